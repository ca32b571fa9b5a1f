"""Our reader of ELF files, compared with pyelftools and readelf on this machine's libraries, and on invalid files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.elf import file
from tests.seams.every import every

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")


def is_elf(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(4) == b"\x7fELF"


def libraries(count: int) -> list[Path]:
    found = [path for folder in FOLDERS for path in sorted(Path(folder).glob("*.so*")) if path.is_file()]
    unique = list({path.stat()[1:3]: path for path in found}.values())  # by inode and device: links are many
    return [path for path in unique[:: max(1, len(unique) // count)] if is_elf(path)]


LIBRARIES = libraries(120)


def by_pyelftools(path: Path) -> dict[str, object]:
    with path.open("rb") as opened:
        elf = ELFFile(opened)
        tags: dict[str, list[str]] = {}
        for segment in elf.iter_segments("PT_DYNAMIC"):
            for tag in segment.iter_tags():  # type: ignore[attr-defined]  # it is a DynamicSegment
                for name in ("needed", "soname", "rpath", "runpath"):
                    if tag.entry.d_tag == f"DT_{name.upper()}":
                        tags.setdefault(name, []).append(getattr(tag, name))
        loads = [segment.header for segment in elf.iter_segments("PT_LOAD")]
        begins, ends = [load.p_vaddr for load in loads], [load.p_vaddr + load.p_memsz for load in loads]
        versions = {}
        for section in elf.iter_sections():
            if isinstance(section, GNUVerNeedSection):
                versions = {need.name: tuple(aux.name for aux in auxes) for need, auxes in section.iter_versions()}
        return {
            "bits": elf.elfclass,
            "needed": tuple(tags.get("needed", ())),
            "soname": "".join(tags.get("soname", ())),
            "rpath": "" if "runpath" in tags else "".join(tags.get("rpath", ())),
            "runpath": tags["runpath"][0] if "runpath" in tags else None,
            "versions": versions,
            "span": max(ends, default=0) - min(begins, default=0),
        }


def ours(path: Path) -> dict[str, object]:
    found = file.read_elf_file(str(path), versions=True)
    return {name: getattr(found, name) for name in ("bits", "needed", "soname", "rpath", "runpath", "versions", "span")}


def test_there_is_something_to_compare() -> None:
    assert len(LIBRARIES) > 30


@every("path", LIBRARIES)
def test_reads_what_pyelftools_reads(path: Path) -> None:
    assert ours(path) == by_pyelftools(path)


def test_reads_what_readelf_reads() -> None:
    said = subprocess.run(
        ["readelf", "-dW", *map(str, LIBRARIES)], capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C"}
    )
    needed = [line.partition("[")[2].rstrip("]") for line in said.stdout.splitlines() if "(NEEDED)" in line]
    assert [name for path in LIBRARIES for name in file.read_elf_file(str(path)).needed] == needed


def test_a_program_names_its_loader() -> None:
    assert file.read_elf_file("/bin/ls").interpreter.startswith("/lib")
    assert file.read_elf_file("/bin/ls").sections == ()


def build(output: Path, *flags: str, source: str = "int x;") -> Path:
    subprocess.run(["gcc", "-x", "c", "-", "-x", "none", "-shared", "-fPIC", "-o", output, *flags], input=source.encode(), check=True)
    return output


def test_search_paths_and_flags(tmp_path: Path) -> None:
    old = file.read_elf_file(str(build(tmp_path / "old.so", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/a:/b,-soname,old.so.1")))
    new = file.read_elf_file(str(build(tmp_path / "new.so", "-Wl,--enable-new-dtags,-rpath,/c,-z,nodefaultlib")))
    assert (old.rpath, old.runpath, old.soname, old.no_defaults) == ("$ORIGIN/a:/b", None, "old.so.1", False)
    assert (new.rpath, new.runpath, new.soname, new.no_defaults) == ("", "/c", "", True)


def test_a_search_path_of_thirty_thousand_bytes(tmp_path: Path) -> None:
    folders = ":".join(f"$ORIGIN/../nvidia/part{number}/lib" for number in range(1000))
    assert file.read_elf_file(str(build(tmp_path / "long.so", f"-Wl,--enable-new-dtags,-rpath,{folders}"))).runpath == folders


def test_a_file_without_section_headers_is_readable(tmp_path: Path) -> None:
    library = build(tmp_path / "x.so", "-Wl,-soname,x.so.1")
    data = bytearray(library.read_bytes())
    data[40:48] = bytes(8)  # e_shoff
    data[58:64] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
    library.write_bytes(data)
    found = file.read_elf_file(str(library), code=True)
    assert (found.soname, found.sections) == ("x.so.1", ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "an empty file"),
        (b"\x7fELF", "truncated"),
        (b"INPUT(-lm)" * 20, "not an ELF file"),
        (b"\x7fELF\x09\x01" + bytes(80), "an ELF file of unknown class or byte order"),
        (b"\x7fELF\x02\x01" + bytes(80), "an ELF file of type 0"),
    ],
)
def test_a_file_that_is_not_a_library_has_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "x.so").write_bytes(content)
    with pytest.raises(file.NotElf) as raised:
        file.read_elf_file(str(tmp_path / "x.so"))
    assert raised.value.reason == reason


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.so")
    for path, reason in ((tmp_path, "a folder"), (tmp_path / "pipe.so", "not a regular file"), (Path("/dev/zero"), "not a regular file")):
        with pytest.raises(file.NotElf) as raised:
            file.read_elf_file(str(path))
        assert raised.value.reason == reason


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_library_is_refused(tmp_path: Path, part: float) -> None:
    library = build(tmp_path / "x.so")
    data = library.read_bytes()
    end = 4096 + 600  # after the last segment there are only section headers, which are not needed
    library.write_bytes(data[: int(end * part)])
    with pytest.raises(file.NotElf, match="truncated"):
        file.read_elf_file(str(library))


@settings(max_examples=400, deadline=1000)
@given(
    changes=st.lists(st.tuples(st.integers(0, 6000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=12),
    cut=st.integers(64, 20000),
)
def test_a_damaged_file_is_only_ever_refused(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, bytes]], cut: int) -> None:
    base = tmp_path_factory.getbasetemp() / "damaged.so"
    if not base.exists():
        build(base, "-Wl,-soname,x.so.1,-rpath,/a", source='#include <stdio.h>\nvoid f(void) { puts("x"); }')
    data = bytearray(base.read_bytes())
    for place, new in changes:
        data[place % len(data) : place % len(data) + len(new)] = new
    broken = base.with_name("broken.so")
    broken.write_bytes(data[:cut])
    try:
        found = file.read_elf_file(str(broken), code=True, versions=True)
    except file.NotElf:
        return
    assert len(found.needed) <= 16384
