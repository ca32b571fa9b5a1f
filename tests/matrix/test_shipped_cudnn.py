from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import CUDNN
from gpudoctor.versions import Version
from tests.shipped import shared_matrix

from .samples import matrix, version


@pytest.fixture(scope="module")
def shipped() -> Matrix:
    return shared_matrix()


def test_wheels_list_their_code_and_the_major_versions_soname(shipped: Matrix) -> None:
    for row in shipped.rows(CUDNN):
        windows = row.platform.startswith("win_")
        assert row.soname == (f"cudnn64_{row.release.major}.dll" if windows else f"libcudnn.so.{row.release.major}")
        assert (row.sass is not None) == (row.ptx is not None) == ("cudnn-wheels" in row.source)
        assert row.sass != ()


@pytest.mark.parametrize(
    ("release", "cuda", "has", "lacks"),
    [
        ("8.5.0.96", 11, "sm_35", "sm_90"),
        ("8.9.7.29", 12, "sm_50", "sm_100"),
        ("9.10.2.21", 12, "sm_70", "sm_75"),
        ("9.11.0.98", 12, "sm_75", "sm_70"),
        ("9.10.2.21", 11, "sm_50", "sm_100"),
        ("9.12.0.46", 13, "sm_75", "sm_70"),
        ("9.28.0.42", 13, "sm_120f", "sm_121"),
    ],
)
def test_gpu_code_of_releases(shipped: Matrix, release: str, cuda: int, has: str, lacks: str) -> None:
    row = shipped.cudnn(version(release), cuda, "linux_x86_64")
    assert row is not None
    assert row.sass is not None
    assert has in row.sass
    assert lacks not in row.sass


@pytest.mark.parametrize(
    ("release", "cuda", "platform", "has"),
    [
        ("9.12.0.46", 13, "linux_aarch64", "sm_110f"),
        ("9.12.0.46", 13, "linux_x86_64", ""),
        ("9.12.0.46", 12, "linux_aarch64", ""),
        ("9.28.0.42", 13, "linux_aarch64", "sm_110f"),
    ],
)
def test_only_arm_wheels_for_cuda_13_support_thor(shipped: Matrix, release: str, cuda: int, platform: str, has: str) -> None:
    row = shipped.cudnn(version(release), cuda, platform)
    assert row is not None
    assert row.sass is not None
    assert [name for name in row.sass if name.startswith("sm_110")] == [has] * bool(has)


def test_every_platform_with_wheels_has_a_cudnn(shipped: Matrix) -> None:
    assert {row.platform for row in shipped.rows(CUDNN)} == {"linux_x86_64", "linux_aarch64", "win_amd64"}
    assert shipped.cudnn(version("9.12.0.46"), 13, "win_arm64") is None


@pytest.mark.parametrize(
    ("asked", "cuda", "found"),
    [
        (version("9.10.2.21"), 12, "9.10.2.21"),
        (version("9.10.2"), 12, "9.10.2.21"),
        (Version(9, 10, 2), 12, "9.10.2.21"),
        (version("9.10.2.99"), 12, "9.10.2.21"),
        (version("7.6.5.32"), 10, "7.6.5.32"),
        (version("7.6.5.32"), 9, "7.6.5.32"),
        (version("7.0.3"), 9, "7.0.3"),
        (version("7.6.5"), 11, None),
        (version("9.11.0"), 11, None),
        (version("99"), 12, None),
    ],
)
def test_a_release_is_found(shipped: Matrix, asked: Version, cuda: int, found: str | None) -> None:
    row = shipped.cudnn(asked, cuda, "linux_x86_64")
    assert (row and str(row.release)) == found


def test_a_short_version_finds_the_newest_that_begins_with_it() -> None:
    known = matrix(
        cudnn="9.1.0.70,12,any,l,,,x\n9.9.0.52,12,any,l,,,x\n9.9.0.53,12,any,l,,,x\n9.9.0.53,13,any,l,,,x\n10.0.0.1,12,any,l,,,x"
    )
    assert [str(row.release) for row in (known.cudnn(version("9"), 12, "any"), known.cudnn(version("9.9.0.1"), 12, "any")) if row] == [
        "9.9.0.53"
    ] * 2
    exact = known.cudnn(version("9.9.0.52"), 12, "any")
    assert exact is not None
    assert str(exact.release) == "9.9.0.52"
    assert [str(row.release) for row in known.cudnns(13, "any")] == ["9.9.0.53"]
    assert known.cudnn(version("9.9.0.52"), 12, "") is None
