"""Finds the facts in which a snapshot differs from another one of the fleet, without those that change by themselves.

The fields come from the structs themselves; what changes by itself is said by `snapshot/volatile.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from typing import Any, get_args, get_type_hints

import msgspec

from gpudoctor.changes.matching import GPU_TYPES, ITEM_KEYS
from gpudoctor.changes.walk import FILE_FIELDS, Difference, PathStep, SnapshotWalk
from gpudoctor.snapshot import Missing, Observed
from gpudoctor.snapshot.volatile import VOLATILE

_LARGE_SIZE, _SIZE_TOLERANCE = 1 << 20, 0.01
"""Bytes from which two numbers may differ, and by which part."""


class SteadyWalk(SnapshotWalk):
    """A walk through two snapshots that passes over volatile fields, in a fraction of the time."""

    def differences(self) -> Iterator[Difference]:
        """Yield every fact that differs and does not change by itself."""
        for name in _differing_fields(self._before, self._after):
            if name not in FILE_FIELDS:
                yield from (
                    difference for difference in self._field(self._before, self._after, name, (), volatile=False) if not difference.volatile
                )

    def _value(self, one: Any, other: Any, way: tuple[PathStep, ...], owner: tuple[str, str], *, volatile: bool) -> Iterator[Difference]:
        kind = type(one)
        if kind is not type(other) or kind is Missing or not isinstance(one, Observed):
            yield from super()._value(one, other, way, owner, volatile=volatile)
            return
        for name in _differing_fields(one, other):
            yield from self._field(one, other, name, way, volatile=volatile)

    def _list(self, before: Any, after: Any, way: tuple[PathStep, ...], owner: tuple[str, str], *, volatile: bool) -> Iterator[Difference]:
        if not _are_parallel(before, after):
            yield from super()._list(before, after, way, owner, volatile=volatile)
            return
        for one, other in zip(before, after, strict=True):
            if not is_steadily_equal(one, other):
                yield from self._value(one, other, (*way, PathStep(self.key(one), one, item=True)), owner, volatile=volatile)


def is_steadily_equal(one: Any, other: Any) -> bool:
    """Return whether two values differ in nothing but volatile fields, or whether their lists of items are the same."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is tuple and one and isinstance(one[0], Observed) and _are_parallel(one, other):
        return all(map(is_steadily_equal, one, other))
    if not isinstance(one, Observed) or kind is Missing:
        return bool(one == other)
    leaves, inner = _leaves_and_branches(kind)  # type: ignore[arg-type]  # a class is hashable
    if leaves is not None and leaves(one) != leaves(other):
        return False
    return all(is_steadily_equal(getattr(one, name), getattr(other, name)) for name in inner)


def is_about_equal(one: Any, other: Any) -> bool:
    """Return whether two values are the same, as sizes within one percent are: two equal machines differ in a few kilobytes of memory."""
    if isinstance(one, int) and isinstance(other, int):
        return one == other or (min(one, other) > _LARGE_SIZE and abs(one - other) <= _SIZE_TOLERANCE * max(one, other))
    return is_steadily_equal(one, other)


def _differing_fields(one: msgspec.Struct, other: msgspec.Struct) -> Iterator[str]:
    """Yield the steady fields in which two structs of one kind differ."""
    leaves, inner = _leaves_and_branches(type(one))
    names = inner if leaves is None or leaves(one) == leaves(other) else _steady_fields(type(one))
    return (name for name in names if not is_steadily_equal(getattr(one, name), getattr(other, name)))


@cache
def _steady_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the fields of a struct that do not change by themselves."""
    volatile = VOLATILE.get(kind, frozenset())  # type: ignore[arg-type]
    return tuple(name for name in kind.__struct_fields__ if name not in volatile)


@cache
def _leaves_and_branches(kind: type[msgspec.Struct]) -> tuple[attrgetter[Any] | None, tuple[str, ...]]:
    """Return what gets all steady fields without anything volatile in them, and the names of the other steady ones."""
    hints = get_type_hints(kind)
    inner = tuple(name for name in _steady_fields(kind) if any(map(_has_volatile_fields, _structs_in_hint(hints[name]))))
    leaves = [name for name in _steady_fields(kind) if name not in inner]
    return attrgetter(*leaves) if leaves else None, inner


def _structs_in_hint(hint: Any) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for argument in get_args(hint):
        yield from _structs_in_hint(argument)


@cache
def _has_volatile_fields(kind: type[msgspec.Struct]) -> bool:
    """Return whether a struct, or one in it, has volatile fields."""
    hints = get_type_hints(kind)
    return kind in VOLATILE or any(_has_volatile_fields(one) for name in kind.__struct_fields__ for one in _structs_in_hint(hints[name]))


def _are_parallel(before: Any, after: Any) -> bool:
    """Return whether two lists have items of the same keys in the same order, each key once."""
    if len(before) != len(after) or not before:
        return False
    kind = type(before[0]).__name__
    of_gpus = kind in GPU_TYPES
    get = attrgetter(*ITEM_KEYS[kind][: 1 if of_gpus else None])
    keys = list(map(get, before))
    if of_gpus and not all(isinstance(key, str) for key in keys):
        return False  # a GPU without an address has another key
    return keys == list(map(get, after)) and len(set(keys)) == len(keys)
