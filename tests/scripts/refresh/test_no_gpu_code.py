from __future__ import annotations

import io
import zipfile

import pytest

from scripts.refresh.index import IndexFile
from scripts.refresh.no_gpu_code import published

from .served import OneWheel, archive, metadata

PURE = [IndexFile(f"plain-{release}-py3-none-any.whl", "u", size=900) for release in ("1.0", "2.0", "3.0rc1")]


def kept(files: list[IndexFile], requirements: str = "") -> list[tuple[str, str, list[str]]]:
    """Return kind, release and bounds of what is kept of a package with these files and lines of METADATA."""
    index = OneWheel(lambda: zipfile.ZipFile(io.BytesIO(archive(**metadata(requirements)))), plain=files)
    return [(one["kind"], one["version"], one["bounds"]) for one in published({"plain", "absent"}, index)]


def test_the_newest_final_release_decides() -> None:
    assert kept(PURE) == [("pure", "2.0", [])]


@pytest.mark.parametrize(
    "requirements",
    [
        "Requires-Dist: requests<3",
        "Requires-Dist: numpy>=1.24",
        "Requires-Dist: torch>=2; extra == 'torch'",
    ],
)
def test_requirements_that_exclude_nothing_in_the_tables(requirements: str) -> None:
    assert kept(PURE, requirements) == [("pure", "2.0", [])]


@pytest.mark.parametrize("bound", ["torch", "jax>=0.4", "numpy<2", "protobuf~=4.25", "flash-attn"])
def test_a_framework_or_a_bound_that_the_tables_must_hold_is_named(bound: str) -> None:
    assert kept(PURE, f"Requires-Dist: {bound}") == [("pure", "2.0", [bound])]


@pytest.mark.parametrize("needed", ["nvidia-ml-py", "fbgemm-gpu", "pytorch-triton"])
def test_what_requires_a_package_for_gpus_is_left_out(needed: str) -> None:
    assert kept(PURE, f"Requires-Dist: {needed}") == []


@pytest.mark.parametrize(
    "file",
    [
        IndexFile("plain-4.0-cp312-cp312-manylinux_2_28_x86_64.whl", "u", size=900),
        IndexFile("plain-4.0-py3-none-any.whl", "u", size=90 << 20),
    ],
    ids=["compiled", "large"],
)
def test_a_compiled_or_large_wheel_may_hold_gpu_code(file: IndexFile) -> None:
    assert kept([*PURE, file]) == []


def test_what_has_no_wheel_stays_unknown() -> None:
    assert kept([IndexFile("plain-4.0.tar.gz", "u", size=900)]) == []


def test_a_newest_release_without_wheels_decides_too() -> None:
    assert kept([*PURE, IndexFile("plain-4.0.tar.gz", "u", size=900)]) == []


@pytest.mark.parametrize(("size", "found"), [(900, [("compiled", "4.0", [])]), (9000, [])], ids=["as large", "much larger"])
def test_wheels_for_linux_as_large_as_for_macos_hold_no_gpu_code(size: int, found: list[tuple[str, str, list[str]]]) -> None:
    tags = {"manylinux_2_28_x86_64": size, "macosx_11_0_arm64": 900}
    assert kept([*PURE, *(IndexFile(f"plain-4.0-cp312-cp312-{tag}.whl", "u", size=one) for tag, one in tags.items())]) == found
