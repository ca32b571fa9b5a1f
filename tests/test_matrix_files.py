from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor import versions
from gpudoctor.errors import TableError, UsageError
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import (
    ALL_TABLES,
    CUDA,
    CUDNN,
    DRIVERS,
    GPUS,
    OTHER_RELEASES,
    RELEASE_TABLES,
    SOURCE_TABLE,
    TORCH_BUILDS,
    WHEEL_TABLES,
)
from gpudoctor.matrix_files import open_matrix, parse_table, read_table
from scripts.refresh.common import dump_table

COMPAT = Path(__file__).resolve().parent.parent / "compat"
HEADER = ",".join(DRIVERS.columns).encode() + b"\n"


def test_the_shipped_tables_are_found_from_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "compat").mkdir()
    assert open_matrix().date >= "2026-11-21"


def test_an_installed_package_finds_its_tables(tmp_path: Path) -> None:
    package = COMPAT.parent / "gpudoctor"
    shutil.copytree(package, tmp_path / "gpudoctor", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "gpudoctor" / "compat").mkdir()
    (tmp_path / "gpudoctor" / "compat" / "drivers.csv").write_bytes(HEADER + b"999,77.0,,,,,,,,,x,\n")
    program = (
        "from gpudoctor.matrix_files import *; from gpudoctor.versions import *; print(open_matrix().driver(Version(999)).cuda_served)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("77.0\n", "")


def test_a_folder_replaces_the_shipped_tables(tmp_path: Path) -> None:
    newer = shutil.copytree(COMPAT, tmp_path / "newer")
    known = (newer / "drivers.csv").read_bytes()
    source = known.splitlines()[-1].split(b",")[10]
    (newer / "drivers.csv").write_bytes(known + b"999,77.0,,,,,,,,," + source + b",\n")
    driver = open_matrix(str(newer)).driver(versions.Version(999))
    assert driver is not None
    assert str(driver.cuda_served) == "77.0"


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--compat: .*gone is not a folder; name one"):
        open_matrix(str(tmp_path / "gone"))


def test_a_missing_table_is_one_sentence(tmp_path: Path) -> None:
    lacking = shutil.copytree(COMPAT, tmp_path / "lacking")
    (lacking / "drivers.csv").unlink()
    with pytest.raises(UsageError, match=r"drivers\.csv cannot be read: No such file or directory"):
        open_matrix(str(lacking))


def test_inconsistent_tables_are_one_sentence(tmp_path: Path) -> None:
    loose = shutil.copytree(COMPAT, tmp_path / "loose")
    known = (loose / "drivers.csv").read_bytes()
    (loose / "drivers.csv").write_bytes(known + b"999,77.0,,,,,,,,,nobody,\n")
    with pytest.raises(UsageError, match=r"are inconsistent: drivers\.csv names the source nobody"):
        open_matrix(str(loose))


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"", 1, "the file is empty"),
        (b"branch,cuda\n", 1, "the header is not branch,cuda_served"),
        (HEADER + b"550,12.4,,,,,,,,,x", 2, "the last line has no newline"),
        (HEADER + b"550,12.4,,,,,,,,,x,\n\n", 3, "has 0 cells where the header names 12"),
        (HEADER + b"550,12.4\n", 2, "has 2 cells"),
        (HEADER + b"550,12.4,,,,,,,,,x,,\n", 2, "has 13 cells"),
        (HEADER + b"550,12.4,,,,,,,,,x,\nR555,12.5,,,,,,,,,x,\n", 3, "column branch is 'R555', not a whole number"),
        (HEADER + b"9" * 5000 + b",12.4,,,,,,,,,x,\n", 2, f"column branch is '{'9' * 40}', not a whole number"),
        (HEADER + b"0550,12.4,,,,,,,,,x,\n", 2, "column branch is '0550'"),
        (HEADER + b"550,twelve,,,,,,,,,x,\n", 2, "column cuda_served is 'twelve', not a dotted version"),
        (HEADER + b"550,12.,,,,,,,,,x,\n", 2, "column cuda_served is '12.'"),
        (HEADER + b"550,12.4,,,,,,,,,,\n", 2, "column source is empty"),
        (HEADER + b"550,12.4,,,,,,,,,a  b,\n", 2, "column source separates its values by more than one space"),
        (HEADER + b"550,12.4,,,,,,,,,x, n\n", 2, "column note begins or ends with a space"),
        (HEADER + b"550,12.4,,,,,,,,,x,\n550,12.4,,,,,,,,,x,\n", 3, "duplicates another row or is not in order"),
        (HEADER + b"555,12.5,,,,,,,,,x,\n550,12.4,,,,,,,,,x,\n", 3, "duplicates another row or is not in order"),
        (HEADER + b"550,12.4,,,,,,,,,x,\xff\n", 2, "is not UTF-8"),
        (HEADER + b'550,12.4,,,,,,,,,x,"open\n', 2, "unexpected end of data"),
        (HEADER + b"550,12.4,,,,,,,,,x,\r\n", 2, "contains a carriage return"),
    ],
)
def test_an_invalid_table_is_reported_by_file_and_line(tmp_path: Path, content: bytes, line: int, problem: str) -> None:
    path = tmp_path / "drivers.csv"
    path.write_bytes(content)
    with pytest.raises(TableError) as caught:
        read_table(str(tmp_path), DRIVERS)
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("release", "2.0rc1"),
        ("release", "2.0.0.post"),
        ("accelerator", "rocm"),
        ("sass", "80"),
        ("sass", "sm_"),
        ("sass", "sm_80x"),
        ("ptx", "ptx_80"),
        ("built_with_cuda", "12.1.0.0.0"),
        ("distribution", ""),
        ("unreachable", "nvidia-cublas-cu12  nvidia-cudnn-cu12"),
    ],
)
def test_an_invalid_framework_cell_is_reported(column: str, cell: str) -> None:
    cells = ["tensorflow", "2.0.0", "linux_x86_64", "3.8", "cuda", "10.1", "7", "sm_35", "none", "", "", "", "none", "x", ""]
    good = dict(zip(RELEASE_TABLES["tensorflow"].columns, cells, strict=True))
    assert RELEASE_TABLES["tensorflow"].parse(list(good.values())).ptx == ()
    with pytest.raises(ValueError, match=f"column {column} "):
        RELEASE_TABLES["tensorflow"].parse(list((good | {column: cell}).values()))


@pytest.mark.parametrize("memory", ["24.0", "big", "-1", "2e1"])
def test_a_memory_has_one_spelling(memory: str) -> None:
    with pytest.raises(ValueError, match="column memory_gib"):
        GPUS.parse(["X", "", "geforce", "8.0", "Ampere", memory, *[""] * 5, "s", ""])


@pytest.mark.parametrize("day", ["20260131", "2026-1-31", "2026-02-30", "", "2026-W05-6"])
def test_a_date_has_one_spelling(day: str) -> None:
    with pytest.raises(ValueError, match="column read"):
        SOURCE_TABLE.parse(["id", "title", "", day])


@pytest.mark.parametrize("table", ALL_TABLES, ids=lambda table: table.name)
@given(content=st.binary(max_size=200))
def test_garbage_gives_rows_or_a_table_error(table: object, content: bytes) -> None:
    chosen = next(one for one in ALL_TABLES if one is table)
    head = ",".join(chosen.columns).encode() + b"\n"
    for file in (content, head + content, head + content + b"\n"):
        with suppress(TableError):
            rows = parse_table("x.csv", file, chosen)
            assert parse_table("x.csv", dump_table(chosen, rows), chosen) == rows


@given(position=st.integers(0, 2000), byte=st.integers(0, 255))
def test_one_wrong_byte_in_a_shipped_table_gives_rows_or_a_table_error(position: int, byte: int) -> None:
    content = bytearray((COMPAT / "cuda.csv").read_bytes())
    content[position % len(content)] = byte
    with suppress(TableError):
        rows = parse_table("cuda.csv", bytes(content), CUDA)
        assert parse_table("cuda.csv", dump_table(CUDA, rows), CUDA) == rows


WHEEL_HEADER = ",".join(OTHER_RELEASES.columns).encode() + b"\n"


def _wheel(releases: str, platform: str = "any", note: str = "") -> bytes:
    return f"keras,{releases},{platform},3.9,none,,,,,,,,,x,{note}\n".encode()


def test_releases_that_share_a_line_are_a_row_each() -> None:
    joined = WHEEL_HEADER + _wheel("1.0 1.2 1.10") + _wheel("1.1", note="else") + _wheel("1.1.1")
    apart = WHEEL_HEADER + _wheel("1.0") + _wheel("1.1", note="else") + _wheel("1.1.1") + _wheel("1.2") + _wheel("1.10")
    rows = parse_table("others.csv", joined, OTHER_RELEASES)
    assert [str(row.release) for row in rows] == ["1.0", "1.1", "1.1.1", "1.2", "1.10"]
    assert parse_table("others.csv", apart, OTHER_RELEASES) == rows
    assert dump_table(OTHER_RELEASES, rows) == WHEEL_HEADER + _wheel("1.0 1.1.1 1.2 1.10") + _wheel("1.1", note="else")


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (_wheel("1.0 1.0"), 2, "duplicates another row"),
        (_wheel("1.1 1.0"), 2, "is not in order"),
        (_wheel("1.0 1.2") + _wheel("1.1 1.2", note="else"), 3, "duplicates another row"),
        (_wheel("1.1") + _wheel("1.0 1.2", note="else"), 3, "is not in order"),
        (_wheel("1.0  1.1"), 2, "column release is ''"),
        (_wheel("1.0 x"), 2, "column release is 'x'"),
        (_wheel(""), 2, "column release is ''"),
        (b"keras\n", 2, "has 1 cells"),
    ],
)
def test_an_invalid_line_of_several_releases_is_reported(content: bytes, line: int, problem: str) -> None:
    with pytest.raises(TableError, match=problem) as caught:
        parse_table("others.csv", WHEEL_HEADER + content, OTHER_RELEASES)
    assert caught.value.line == line


def test_the_rows_of_one_release_are_those_of_the_whole_table() -> None:
    shipped = open_matrix()
    for table in WHEEL_TABLES:
        whole = open_matrix().rows(table)
        for name, release in sorted({(row.distribution, str(row.release)) for row in whole})[::9]:
            expected = tuple(row for row in whole if (row.distribution, str(row.release)) == (name, release))
            assert shipped.rows(table, name, release=release) == expected
    assert shipped.rows(OTHER_RELEASES, "keras", release="3") == ()


def test_a_copy_of_the_shipped_tables_gives_the_same_answers(tmp_path: Path) -> None:
    shutil.copytree(COMPAT, tmp_path / "copy")
    copy, shipped = open_matrix(str(tmp_path / "copy")), open_matrix()
    for table in ALL_TABLES:
        assert copy.rows(table) == shipped.rows(table)


def test_the_rows_of_one_distribution_are_those_of_the_whole_table() -> None:
    shipped = open_matrix()
    for table in WHEEL_TABLES:
        whole = shipped.rows(table)
        for name in {row.distribution for row in whole}:
            assert shipped.rows(table, name) == tuple(row for row in whole if row.distribution == name)
    assert shipped.rows(OTHER_RELEASES, "cupy-cuda") == ()  # the beginning of other names


@pytest.mark.parametrize("seen_before", [False, True])
def test_the_rows_for_one_platform_are_those_of_the_whole_table(seen_before: bool) -> None:
    tables: tuple[Table[Any], ...] = (*WHEEL_TABLES, CUDNN, TORCH_BUILDS)
    for table in tables:
        whole = open_matrix().rows(table)
        for platform in {row.platform for row in whole} - {"any"}:
            shipped = open_matrix()
            if seen_before:
                shipped.rows(table)
            assert shipped.rows(table, platform=platform) == tuple(row for row in whole if row.platform in {platform, "any"})
