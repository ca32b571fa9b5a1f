"""A symbol version that a library lacks is found exactly where the real loader refuses the file that needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.elf.file import read_elf_file
from gpudoctor.elf.symbol_versions import missing_version


def linked(place: Path, source: str, *options: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    command = ["gcc", "-x", "c", "-", "-x", "none", "-shared", "-fPIC", "-nostdlib", "-o", str(place), *options]
    subprocess.run(command, input=source.encode(), check=True)
    return place


def library(place: Path, *versions: str) -> Path:
    """A libthing.so.1 that defines one function of each version; of none, one without a version."""
    script = place.parent / "versions.map"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("".join(f"{version} {{ global: f{number}; }};\n" for number, version in enumerate(versions)))
    source = "".join(f"int f{number}(void) {{ return 0; }}\n" for number in range(max(len(versions), 1)))
    named = [f"-Wl,--version-script,{script}"] if versions else []
    return linked(place, source, "-Wl,-soname,libthing.so.1", *named)


def needing(place: Path, built_with: Path, count: int, weak: str = "") -> Path:
    declared = "".join(f"{weak} int f{number}(void);\n" for number in range(count))
    calls = " + ".join(f"f{number}()" for number in range(count))
    return linked(place, f"{declared} int all(void) {{ return {calls}; }}", "-Wl,--no-as-needed", str(built_with))


def is_loaded(file: Path, folder: Path) -> bool:
    told = f"import ctypes, os; ctypes.CDLL({str(file)!r}, mode=os.RTLD_LAZY)"
    environ = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    return subprocess.run((sys.executable, "-c", told), env=environ, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (("GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.29", "CXXABI_1.3.13"), ""),
        (("GLIBCXX_3.4", "GLIBCXX_3.4.9"), "GLIBCXX_3.4.29"),
        (("GLIBCXX_3.4",), "GLIBCXX_3.4.29"),
        (("GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.29"), "CXXABI_1.3.13"),
        ((), ""),  # the loader only warns
    ],
)
def test_the_loader_refuses_what_needs_a_version_that_is_missing(tmp_path: Path, present: tuple[str, ...], missing: str) -> None:
    new = library(tmp_path / "new/libthing.so.1", "GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.29", "CXXABI_1.3.13")
    old = library(tmp_path / "old/libthing.so.1", *present)
    file = needing(tmp_path / "needing.so", new, 4)
    assert missing_version(str(file), read_elf_file(str(file)), "libthing.so.1", str(old), read_elf_file(str(old))) == missing
    assert is_loaded(file, old.parent) is not bool(missing)


def test_a_file_without_versions_needs_none(tmp_path: Path) -> None:
    plain = library(tmp_path / "plain/libthing.so.1")
    old = library(tmp_path / "old/libthing.so.1", "GLIBCXX_3.4")
    file = needing(tmp_path / "needing.so", plain, 1)
    assert missing_version(str(file), read_elf_file(str(file)), "libthing.so.1", str(old), read_elf_file(str(old))) == ""
    assert is_loaded(file, old.parent)


def test_tables_that_end_early_are_no_missing_version(tmp_path: Path) -> None:
    new = library(tmp_path / "new/libthing.so.1", "GLIBCXX_3.4", "GLIBCXX_3.4.9")
    file = needing(tmp_path / "needing.so", new, 2)
    elf, other = read_elf_file(str(file)), read_elf_file(str(new))
    for offset in (1 << 40, file.stat().st_size - 5):
        elf.version_needs = offset
        assert missing_version(str(file), elf, "libthing.so.1", str(new), other) == ""
    elf, other.version_definitions = read_elf_file(str(file)), new.stat().st_size - 5
    assert missing_version(str(file), elf, "libthing.so.1", str(new), other) == ""
