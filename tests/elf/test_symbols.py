"""The reader of dynamic symbols, compared with nm on this machine's libraries."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.elf import file, symbols
from tests.elf.test_file import LIBRARIES, build

SOME = LIBRARIES[::6]


def nm(path: Path, *options: str) -> set[str]:
    """Names without the versions that nm appends; undefined weak ones are w or v."""
    said = subprocess.run(["nm", "-D", *options, path], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {row[-1].partition("@")[0] for row in rows if row[-2] not in {"w", "v"}}


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_undefined_and_defined_symbols_agree_with_nm(path: Path) -> None:
    elf = file.read_elf_file(str(path))
    assert set(symbols.undefined_symbols(str(path), elf)) == nm(path, "-u")
    names = sorted(nm(path, "--defined-only"))[:300]
    assert symbols.defined_symbols(str(path), elf, [*names, "no_such_name", "another"]) == set(names)


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
def test_each_kind_of_hash_table_is_looked_up(tmp_path: Path, style: str) -> None:
    names = [f"function_{number}" for number in range(300)]
    source = "".join(f"int {name}(void) {{ return 0; }}" for name in names) + "int wanted(void); int calls(void) { return wanted(); }"
    path = build(tmp_path / "x.so", f"-Wl,--hash-style={style}", source=source)
    elf = file.read_elf_file(str(path))
    assert symbols.can_find_symbols(elf)
    assert symbols.defined_symbols(str(path), elf, [*names, "wanted", "function_300"]) == set(names)
    assert "wanted" in symbols.undefined_symbols(str(path), elf)
    assert not set(names) & set(symbols.undefined_symbols(str(path), elf))


def test_names_that_contain_a_text(tmp_path: Path) -> None:
    path = build(tmp_path / "x.so", source="void a_GetCurandDsoHandle_b(void) {}")
    elf = file.read_elf_file(str(path))
    assert symbols.has_symbol_mentioning(str(path), elf, b"GetCurandDsoHandle")
    assert not symbols.has_symbol_mentioning(str(path), elf, b"GetCublasDsoHandle")
    assert not symbols.has_symbol_mentioning(str(tmp_path / "gone"), elf, b"GetCurandDsoHandle")


@settings(max_examples=300, deadline=2000)
@given(changes=st.lists(st.tuples(st.integers(0, 3000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=12))
def test_damaged_tables_raise_nothing(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]]) -> None:
    base = tmp_path_factory.getbasetemp() / "symbols.so"
    if not base.exists():
        build(base, source="void a(void) {}\nvoid b(void) {}\nvoid c(void);\nvoid d(void) { c(); }")
    data = bytearray(base.read_bytes())
    for place, new in changes:
        data[place % len(data) : place % len(data) + len(new)] = new
    broken = base.with_name("broken-symbols.so")
    broken.write_bytes(data)
    try:
        elf = file.read_elf_file(str(broken))
    except file.NotElf:
        return
    assert len(symbols.undefined_symbols(str(broken), elf)) <= symbols.MAX_SYMBOLS
    assert symbols.defined_symbols(str(broken), elf, ["a", "b", "z"]) <= {"a", "b", "z"}
