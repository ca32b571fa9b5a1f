"""Small tables for look-ups whose answer must not change when the shipped tables grow."""

from __future__ import annotations

from typing import Any

from gpudoctor import versions
from gpudoctor.matrix import FrameworkRelease, Matrix
from gpudoctor.matrix.table import Row, Table
from gpudoctor.matrix_files import parse_table


def version(text: str) -> versions.Version:
    found = versions.parse_version(text)
    assert found is not None
    return found


def matrix(**tables: str) -> Matrix:
    """A matrix over tables given as lines below the header; missing trailing cells are blank. Without spaces, one line will do."""

    def read(table: Table[Row], distribution: str = "", platform: str = "", release: str = "") -> tuple[Row, ...]:
        blanks = len(table.columns) - 1
        given = tables.get(table.name, "")
        rows = [row.strip() for row in given.splitlines() if row.strip()] if "\n" in given else given.split()
        lines = [",".join(table.columns), *(row + "," * (blanks - _commas(row)) for row in rows)]
        return parse_table(
            f"{table.name}.csv", "".join(f"{line}\n" for line in lines).encode(), table, distribution, platform, release=release
        )

    return Matrix(read)


def _commas(line: str) -> int:
    """The commas that separate cells, not those inside a quoted one."""
    return sum(part.count(",") for part in line.split('"')[::2])


def release(text: str, **fields: Any) -> FrameworkRelease:
    """A CUDA row of torch."""
    values: dict[str, Any] = {
        "distribution": "torch",
        "release": version(text),
        "platform": "linux_x86_64",
        "pythons": ("3.11",),
        "accelerator": "cuda",
        "built_with_cuda": version("12.1"),
        "cudnn": version("8.9.2.26"),
        "sass": ("sm_50", "sm_80"),
        "ptx": (),
        "requires": ("nvidia-cudnn-cu12==8.9.2.26",),
        "numpy_abi": None,
        "builds": (),
        "unreachable": None,
        "source": ("torch-wheels",),
        "note": "",
    }
    return FrameworkRelease(**values | fields)
