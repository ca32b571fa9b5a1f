"""Lists of folders as the loader reads them: tokens expanded, no folder twice, processor-specific folders first."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from gpudoctor.elf.system import FileSystem

MAX_FOLDERS = 65536
"""In one list; no search path that fits into an environment or a file's megabyte has more."""
HWCAPS = "glibc-hwcaps"
_LEVEL_FLAGS = {
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
    "x86-64-v3": ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"),
    "x86-64-v2": ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"),
}
"""The levels of the x86-64 psABI, highest first, each with the flags of /proc/cpuinfo that it adds to the one below."""


def split_path_list(text: str) -> tuple[str, ...]:
    """The entries of a list in order, without duplicates: TensorFlow's RUNPATH repeats its eight a hundred times."""
    return tuple(dict.fromkeys(text.replace(";", ":").split(":")[:MAX_FOLDERS]))


class PathTokens:
    """The values of $LIB and $PLATFORM in this process."""

    __slots__ = ("_lib", "_platform")

    def __init__(self, lib: str, platform: str) -> None:
        self._lib = lib
        self._platform = platform

    def expand(self, text: str, origin: str) -> str:
        """`text` with its tokens expanded; `origin` is the folder of the object that holds it."""
        if "$" not in text:
            return text
        values = {"ORIGIN": origin, "LIB": self._lib, "PLATFORM": self._platform}
        done, rest = "", text
        while "$" in rest:
            before, _, rest = rest.partition("$")
            done += before
            for name, value in values.items():
                braced = f"{{{name}}}"
                if rest.startswith(braced):
                    done, rest = done + value, rest[len(braced) :]
                    break
                if rest.startswith(name) and not (rest[len(name) :][:1].isalnum() or rest[len(name) :][:1] == "_"):
                    done, rest = done + value, rest[len(name) :]
                    break
            else:
                done += "$"
        return done + rest


class SearchFolders:
    """The folders of one list. An empty entry is the current directory, which is unknown: it yields nothing."""

    __slots__ = ("_entries", "_files", "_origin", "_tokens")

    def __init__(self, files: FileSystem, tokens: PathTokens, entries: Iterable[str], origin: str) -> None:
        self._files = files
        self._tokens = tokens
        self._entries = entries
        self._origin = origin

    def __iter__(self) -> Iterator[str]:
        seen = set()
        for entry in self._entries:
            folder = self._tokens.expand(entry, self._origin)
            folder = folder.rstrip("/") or folder[:1]
            if not folder.startswith("/") or folder in seen:
                continue
            seen.add(folder)
            folder = "" if folder == "/" else folder
            if self._files.is_folder(f"{folder}/{HWCAPS}"):
                yield from (f"{folder}/{HWCAPS}/{level}" for level in processor_levels())
            yield folder


@functools.lru_cache(maxsize=1)
def processor_levels() -> tuple[str, ...]:
    """The processor levels of this machine whose libraries may lie in folders of their own, highest first."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            text = file.read(16384)
    except OSError:
        return ()
    flags = text.partition(b"flags")[2].partition(b"\n")[0].decode("ascii", "replace").split()
    needed: list[str] = []
    held = []
    for level, added in reversed(_LEVEL_FLAGS.items()):
        needed += added
        if set(needed) <= set(flags):
            held.append(level)
    return tuple(reversed(held))
