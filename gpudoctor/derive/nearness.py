"""Which release to try first instead of another: the change should be as small as possible."""

from __future__ import annotations

from gpudoctor.versions import Version, parse_version


def nearness_order(release: str, to: str) -> tuple[object, ...]:
    """Return a sort key, nearest first; newest first if there is nothing to be near to.

    Releases of the same series come first, then the next newer series, then the next older one; within another series its newest release.
    A series is a minor version, whose releases only fix bugs. Before 1.0 it is one release.
    """
    here, there = parse_version(release), parse_version(to)
    numbers = _descending(here)
    if here is None or there is None:
        return (0, numbers)
    own, other = _series(there), _series(here)
    if other == own:
        return (0, release != to, here < there, numbers)
    return (1, other, numbers) if other > own else (2, _descending(other), numbers)


def _series(release: Version) -> tuple[int, ...]:
    return release[:2] if release.major else release[:4]


def _descending(release: tuple[object, ...] | None) -> tuple[int, ...]:
    """Return the numbers of a release such that newer ones sort first."""
    return tuple(-number for number in release or () if isinstance(number, int))
