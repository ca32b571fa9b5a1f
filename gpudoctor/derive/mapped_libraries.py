"""The X-ray held against what a framework really mapped: libraries of CUDA that came from another file than the simulated one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.snapshot import FrameworkLibraries, LibraryFile, LibraryUse, Missing


class Unexpected(msgspec.Struct, frozen=True):
    """A library that was loaded from elsewhere."""

    use: LibraryUse
    simulated: str
    """The file that the loader was expected to take, links resolved; empty where none was found."""
    mapped: str


def unexpected(seen: FrameworkLibraries, mapped: Iterable[str]) -> Iterator[Unexpected]:
    """The files that a process maps in place of those that the X-ray names; what it has not opened yet says nothing."""
    there = tuple(dict.fromkeys(mapped))
    for use in () if isinstance(seen.uses, Missing) else seen.uses:
        expected = _real(use)
        others = [path for path in there if _is_release_of(path, use.wanted)]
        if others and expected not in there:
            yield Unexpected(use, expected, others[0])


def _real(use: LibraryUse) -> str:
    if not isinstance(use.file, LibraryFile):
        return ""
    return use.file.real if isinstance(use.file.real, str) else use.file.path


def _is_release_of(path: str, wanted: str) -> bool:
    """Whether a file bears the name that was asked for, its own release behind it: libcudart.so.12 and libcudart.so.12.4.127."""
    name = path.rpartition("/")[2]
    return name == wanted or name.startswith(f"{wanted}.")
