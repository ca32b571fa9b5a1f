"""Which of its libraries an add-on loads with a framework's CUDA."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive.add_on_wheels import cuda_of_loaded_library, cuda_versions
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.versions import Version
from tests.shipped import shared_matrix

MATRIX = shared_matrix()
SEVERAL = ("cu118", "cu126", "cu128", "cu130")


def wheel(release: Version, builds: tuple[str, ...] = SEVERAL, name: str = "bitsandbytes") -> FrameworkRelease:
    """A wheel of an add-on with libraries for these CUDA versions; one with none was built with CUDA 12.6."""
    return msgspec.structs.replace(
        MATRIX.releases("bitsandbytes")[-1], distribution=name, release=release, builds=builds, built_with_cuda=Version(12, 6)
    )


@pytest.mark.parametrize(
    ("release", "cuda", "loads"),
    [
        (Version(0, 49), Version(12, 6), Version(12, 6)),
        (Version(0, 49), Version(12, 7), None),
        (Version(0, 50), Version(12, 7), Version(12, 6)),
        (Version(0, 50), Version(12, 9), Version(12, 8)),
        (Version(0, 50), Version(12, 4), Version(12, 6)),
        (Version(0, 50), Version(11, 7), Version(11, 8)),
        (Version(0, 50), Version(10, 2), None),
    ],
)
def test_of_several_libraries_one_is_loaded(release: Version, cuda: Version, loads: Version | None) -> None:
    found = cuda_of_loaded_library(wheel(release), cuda, MATRIX)
    assert (found and found[:2]) == (loads and loads[:2])


@pytest.mark.parametrize(("cuda", "loads"), [(Version(12, 1), True), (Version(12, 9), True), (Version(13, 0), False)])
def test_one_library_works_with_its_major_version(cuda: Version, loads: bool) -> None:
    for name in ("bitsandbytes", "another-add-on"):  # the matrix has a bound for the first only
        row = wheel(Version(0, 49), (), name)
        assert cuda_versions(row) == (Version(12, 6),)
        assert (cuda_of_loaded_library(row, cuda, MATRIX) is not None) is loads


def test_an_add_on_without_a_bound_loads_exactly_its_version() -> None:
    row = wheel(Version(9, 0), name="another-add-on")
    assert cuda_of_loaded_library(row, Version(12, 7), MATRIX) is None
    assert cuda_of_loaded_library(row, Version(12, 8), MATRIX) is not None
