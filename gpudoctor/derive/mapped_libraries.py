"""Compares the X-ray with what a framework really mapped: CUDA libraries loaded from another file than predicted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.snapshot import FrameworkLibraries, LibraryFile, LibraryUse, Missing


class UnexpectedLibrary(msgspec.Struct, frozen=True):
    """A library that was loaded from elsewhere."""

    use: LibraryUse
    simulated: str
    """The predicted file, links resolved; empty if none was found."""
    mapped: str


def unexpected_libraries(seen: FrameworkLibraries, mapped: Iterable[str]) -> Iterator[UnexpectedLibrary]:
    """The files that a process mapped instead of the predicted ones; what it has not opened yet does not count."""
    there = tuple(dict.fromkeys(mapped))
    for use in () if isinstance(seen.uses, Missing) else seen.uses:
        expected = _resolved_path(use)
        others = [path for path in there if _is_release_of(path, use.wanted)]
        if others and expected not in there:
            yield UnexpectedLibrary(use, expected, others[0])


def _resolved_path(use: LibraryUse) -> str:
    if not isinstance(use.file, LibraryFile):
        return ""
    return use.file.real if isinstance(use.file.real, str) else use.file.path


def _is_release_of(path: str, wanted: str) -> bool:
    """Whether a file has the requested name, possibly followed by its version: libcudart.so.12 and libcudart.so.12.4.127."""
    name = path.rpartition("/")[2]
    return name == wanted or name.startswith(f"{wanted}.")
