from __future__ import annotations

import pytest

from gpudoctor.matrix import CudaRelease, Matrix
from gpudoctor.matrix.tables import CUDA
from tests.shipped import shared_matrix

from .samples import version


def toolkits_with(soname: str, matrix: Matrix) -> list[CudaRelease]:
    return [row for row in matrix.rows(CUDA) if soname in row.sonames]


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


def test_every_release_names_its_compiler_and_libraries(shipped: Matrix) -> None:
    for row in shipped.rows(CUDA):
        assert row.sass
        assert row.ptx_isa
        assert row.host_gcc
        families = {name.partition(".so.")[0] for name in row.sonames}
        assert families >= {"libcublas", "libcudart", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnvrtc"}, row.release
        assert len(families) == len(row.sonames)


@pytest.mark.parametrize("release", ["12.3.2", "12.8.2", "12.9.2", "13.0.3", "13.1.2", "13.3.1", "13.4.1", "13.4.2", "13.4.3", "13.5"])
def test_an_update_has_its_own_row_and_components(shipped: Matrix, release: str) -> None:
    row = shipped.cuda(version(release))
    assert row is not None
    assert str(row.release) == release
    assert row.components


@pytest.mark.parametrize(
    ("release", "made"),
    [
        ("8.0", ("sm_20", "sm_62", "5.0", 5)),
        ("9.0", ("sm_30", "sm_70", "6.0", 6)),
        ("10.2", ("sm_30", "sm_75", "6.5", 8)),
        ("11.0.3", ("sm_35", "sm_80", "7.0", 9)),
        ("11.4", ("sm_35", "sm_87", "7.4", 10)),
        ("11.4.1", ("sm_35", "sm_87", "7.4", 11)),
        ("11.8", ("sm_35", "sm_90", "7.8", 11)),
        ("12.0", ("sm_50", "sm_90a", "8.0", 12)),
        ("12.6.3", ("sm_50", "sm_90a", "8.5", 13)),
        ("12.8", ("sm_50", "sm_120a", "8.7", 14)),
        ("12.9.1", ("sm_50", "sm_121f", "8.8", 14)),
        ("13.0", ("sm_75", "sm_121f", "9.0", 15)),
    ],
)
def test_what_compilers_target_and_accept(shipped: Matrix, release: str, made: tuple[str, str, str, int]) -> None:
    row = shipped.cuda(version(release))
    assert row is not None
    assert row.sass is not None
    assert (row.sass[0], row.sass[-1], str(row.ptx_isa), row.host_gcc) == made


@pytest.mark.parametrize(
    ("soname", "first", "last"),
    [
        ("libcudart.so.8.0", "8.0", "8.0.61"),
        ("libcudart.so.9.0", "9.0", "9.0"),
        ("libcudart.so.10.1", "10.1", "10.1"),
        ("libcublas.so.10", "10.1", "10.2"),
        ("libcudart.so.11.0", "11.0.2", "11.8"),
        ("libcusolver.so.10", "10.1", "11.0.3"),
        ("libcusolver.so.11", "11.1", "12.9.2"),
        ("libnvrtc.so.11.2", "11.2", "11.8"),
        ("libcudart.so.12", "12.0", "12.9.2"),
    ],
)
def test_toolkits_that_contain_a_library(shipped: Matrix, soname: str, first: str, last: str) -> None:
    found = toolkits_with(soname, shipped)
    assert (str(found[0].release), str(found[-1].release)) == (first, last)


def test_a_library_in_no_toolkit(shipped: Matrix) -> None:
    assert toolkits_with("libcudart.so.7.5", shipped) == []
    assert {row.release.major for row in toolkits_with("libcudart.so.13", shipped)} == {13}
