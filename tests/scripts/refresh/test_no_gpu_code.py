from __future__ import annotations

import io
import zipfile

import pytest

from scripts.refresh.index import IndexFile
from scripts.refresh.no_gpu_code import published

from .served import OneWheel, archive, metadata

PURE = [IndexFile(f"plain-{release}-py3-none-any.whl", "u", size=900) for release in ("1.0", "2.0", "3.0rc1")]


def names(files: list[IndexFile], requirements: str = "") -> list[tuple[str, str]]:
    """Return name and release of what is kept of a package with these files and lines of METADATA."""
    index = OneWheel(lambda: zipfile.ZipFile(io.BytesIO(archive(**metadata(requirements)))), plain=files)
    return [(one["name"], one["version"]) for one in published({"plain", "absent"}, index)]


def test_the_newest_final_release_decides() -> None:
    assert names(PURE) == [("plain", "2.0")]


@pytest.mark.parametrize(
    "requirements",
    [
        "Requires-Dist: requests<3",
        "Requires-Dist: numpy>=1.24",
        "Requires-Dist: torch>=2; extra == 'torch'",
    ],
)
def test_requirements_that_exclude_nothing_in_the_tables(requirements: str) -> None:
    assert names(PURE, requirements) == [("plain", "2.0")]


@pytest.mark.parametrize(
    "requirements",
    [
        "Requires-Dist: torch",
        "Requires-Dist: jax>=0.4",
        "Requires-Dist: numpy<2",
        "Requires-Dist: protobuf~=4.25",
        "Requires-Dist: flash-attn",
        "Requires-Dist: nvidia-ml-py",
    ],
)
def test_what_requires_a_framework_or_excludes_a_release_in_the_tables_is_left_out(requirements: str) -> None:
    assert names(PURE, requirements) == []


@pytest.mark.parametrize(
    "file",
    [
        IndexFile("plain-4.0-cp312-cp312-manylinux_2_28_x86_64.whl", "u", size=900),
        IndexFile("plain-4.0-py3-none-any.whl", "u", size=90 << 20),
    ],
    ids=["compiled", "large"],
)
def test_a_compiled_or_large_wheel_may_hold_gpu_code(file: IndexFile) -> None:
    assert names([*PURE, file]) == []


def test_what_has_no_wheel_stays_unknown() -> None:
    assert names([IndexFile("plain-4.0.tar.gz", "u", size=900)]) == []
