"""The facts of a report as leaves, and what a fault changed in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
Facts: TypeAlias = Mapping[Place, Any]
MARKS: Final = frozenset({
    "created", "uptime", "expires", "seconds_left", "init", "calls", "alarms", "refusals", "hang", "remarks", "library", "real", "kernel_log", "shared_memory",
})  # fmt: skip
"""What may change with a fault: the time, where the driver's errors are reported, which file our library is, the log of the kernel that runs us,
and the memory that others share here."""


def facts(report: Mapping[str, Any]) -> Facts:
    """Return each value of a report's snapshot by its place; a missing one is the dictionary that says why."""
    return dict(_leaves(report.get("snapshot", {}), ()))


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict) and value.get("type") != "missing":
        for key, item in value.items():
            yield from _leaves(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, (*place, number))
    else:
        yield place, value


def steady(first: Facts, second: Facts) -> Facts:
    """Return what two looks at the same machine have in common: not its clock, nor the folders of a cell."""
    return {place: value for place, value in first.items() if second.get(place) == value}


def changed(healthy: Facts, seen: Facts) -> dict[Place, Any]:
    """Return what differs from the healthy machine, with the missing value in its place, or None where it is gone with its list."""
    found = {}
    for place, value in healthy.items():
        now = seen[place] if place in seen else next((seen[place[:end]] for end in range(len(place)) if place[:end] in seen), None)
        if now != value and not MARKS.intersection(place):
            found[place] = now
    return found


def wrong(changes: Mapping[Place, Any]) -> list[Place]:
    """Return where a value is another one than the healthy machine's, and not missing."""
    return [place for place, now in changes.items() if now is not None and not is_missing(now)]


def is_missing(value: Any) -> bool:
    """Return whether a leaf says why it has no value."""
    return isinstance(value, dict)


def shown(places: Iterable[Place], reason: Callable[[Place], Any] = lambda _: "") -> str:
    """Return some places in words."""
    listed = list(places)
    more = f" and {len(listed) - 2} more" if len(listed) > 2 else ""
    return ", ".join(f"{'.'.join(map(str, place))} {json.dumps(reason(place))[:120]}" for place in listed[:2]) + more
