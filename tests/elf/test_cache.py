"""The reader of ld.so.cache, compared with ldconfig's own listing, and on damaged caches."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.elf.cache import Cache
from gpudoctor.elf.system import FileTree

LDCONFIG = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin:/usr/bin") or "ldconfig"


def made(*entries: tuple[int, str, str, int], old: bool = False) -> bytes:
    """A cache of these (flags, soname, path, hwcap)."""
    texts, rows = b"", []
    first = 48 + 24 * len(entries)
    for flags, name, path, hwcap in entries:
        key = first + len(texts)
        texts += name.encode() + b"\0"
        rows.append(struct.pack("=iIIIQ", flags, key, first + len(texts), 0, hwcap))
        texts += path.encode() + b"\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(entries), len(texts))
    data = head.ljust(48, b"\0") + b"".join(rows) + texts
    return b"ld.so-1.7.0\0" + struct.pack("=I", 0) + data if old else data


@pytest.mark.parametrize("old", [False, True])
def test_both_formats_are_read_without_other_architectures(old: bool) -> None:
    data = made(
        (0x303, "libx.so.1", "/special/libx.so.1", 1 << 62), (0x303, "libx.so.1", "/usr/lib/libx.so.1", 0), (3, "liby.so", "/lib32/liby.so", 0),
        old=old,
    )  # fmt: skip
    cache = Cache(data)
    assert (cache.get("libx.so.1"), cache.get("liby.so"), len(cache)) == ("/usr/lib/libx.so.1", None, 1)
    assert Cache(data, "i386", 32).get("liby.so") == "/lib32/liby.so"


def test_reads_what_ldconfig_lists(tmp_path: Path) -> None:
    folders = [folder for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib") if Path(folder).is_dir()]
    (tmp_path / "etc").mkdir()
    made_cache = tmp_path / "etc/ld.so.cache"
    subprocess.run([LDCONFIG, "-X", "-C", made_cache, *folders], check=True, capture_output=True)
    said = subprocess.run([LDCONFIG, "-p", "-C", made_cache], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines() if "=>" in line and "(libc6,x86-64" in line and "hwcap" not in line]
    first: dict[str, str] = {}
    for row in rows:
        first.setdefault(row[0], row[-1])
    cache = FileTree(str(tmp_path)).cache("x86_64", 64)
    assert len(first) > 20
    assert {name: cache.get(name) for name in first} == first


def test_without_a_cache_that_can_be_read_there_are_no_entries(tmp_path: Path) -> None:
    for root in ("missing", "folder"):
        (tmp_path / "folder/etc/ld.so.cache").mkdir(parents=True, exist_ok=True)
        assert not len(FileTree(str(tmp_path / root)).cache("x86_64", 64))
    assert not len(Cache(b"something else"))


@settings(max_examples=300)
@given(changes=st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=1, max_size=9)), max_size=9), cut=st.integers(0, 400))
def test_a_damaged_cache_raises_nothing(changes: list[tuple[int, bytes]], cut: int) -> None:
    data = bytearray(made(*((0x303, f"lib{number}.so", f"/lib/lib{number}.so", number % 2) for number in range(5))))
    for place, new in changes:
        data[place % len(data) : place % len(data) + len(new)] = new
    cache = Cache(bytes(data[:cut]))
    assert cache.get("lib1.so") is None or isinstance(cache.get("lib1.so"), str)
