"""What is built for one CUDA version and loads the system's."""

from __future__ import annotations

import pytest

from gpudoctor import versions
from gpudoctor.derive.system_cuda import _cupy_cuda, missing_file_names
from gpudoctor.snapshot import Distribution
from tests.shipped import shared_matrix

MATRIX = shared_matrix()


@pytest.mark.parametrize(
    ("name", "cuda"),
    [
        ("cupy-cuda12x", "12"),
        ("cupy-cuda11x", "11"),
        ("cupy-cuda102", "10.2"),
        ("cupy-cuda110", "11.0"),
        ("cupy-cuda92", "9.2"),
        ("cupy", None),
        ("cupy-rocm-5-0", None),
        ("numpy", None),
    ],
)
def test_the_name_of_a_cupy_wheel_says_its_cuda(name: str, cuda: str | None) -> None:
    found = _cupy_cuda(Distribution(name, "13.0", "/site"))
    assert (found.text if found else None) == cuda


@pytest.mark.parametrize(
    ("built", "toolkit", "fits"),
    [
        ("12", "12.8", True),
        ("12", "11.8", False),
        ("12.4", "12.4", True),
        ("12.4", "12.9", True),
        ("12.4", "13.0", False),
        ("12.4", "12.99", True),
        ("99.1", "99.2", True),
        ("10.2", "10.2", True),
        ("10.2", "10.99", False),
        ("10", "10.99", True),
        ("11.99", "11.98", True),
    ],
)
def test_a_toolkit_has_the_files_of_its_major_version_and_before_11_of_its_minor_version(built: str, toolkit: str, fits: bool) -> None:
    wanted, found = versions.parse_version(built), versions.parse_version(toolkit)
    assert wanted is not None
    assert found is not None
    assert (missing_file_names(wanted, found, MATRIX) == ()) is fits


def test_missing_files_are_named_where_the_tables_know_them() -> None:
    wanted, found, unheard = (versions.parse_version(text) for text in ("12.4", "11.8", "10.99"))
    assert wanted is not None
    assert found is not None
    assert unheard is not None
    assert "libcudart.so.12" in missing_file_names(wanted, found, MATRIX)
    assert missing_file_names(unheard, found, MATRIX) == ("the libraries of CUDA 10.99",)
    assert missing_file_names(wanted, unheard, MATRIX) == ("the libraries of CUDA 12",)
