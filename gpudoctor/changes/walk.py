"""Finds every fact in which two snapshots differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from gpudoctor.changes.matching import ItemNames, item_pairs
from gpudoctor.snapshot import TEXT, Cause, Fact, Missing, Snapshot, is_unasked
from gpudoctor.snapshot.volatile import VOLATILE

UNREAD_CAUSES = frozenset({Cause.DENIED, Cause.TIMED_OUT, Cause.FAILED, Cause.CRASHED, Cause.LOST, Cause.NOT_ASKED, Cause.NOT_STATED})
"""Causes that say nothing about the machine."""
FILE_FIELDS = frozenset({"version", "created", "origin", "remarks", "text_log"})


def is_unread(value: object) -> bool:
    """Return whether a value is missing for a reason that says nothing about the machine."""
    return isinstance(value, Missing) and value.cause in UNREAD_CAUSES


class PathStep(msgspec.Struct, frozen=True):
    """One step on the way from a snapshot to a fact: a field, or the item of a list."""

    name: str
    holder: Any
    """The struct or list item that this step leads to, on either side; None for a plain value."""
    item: bool = False


class Difference(msgspec.Struct, frozen=True):
    """One fact that differs."""

    steps: tuple[PathStep, ...]
    before: Any
    """None: only the other snapshot has this item."""
    after: Any
    owner: tuple[str, str]
    """The struct and the field that rules read to learn it."""
    volatile: bool

    @property
    def path(self) -> str:
        """The field's name for --ignore: nvml.gpus.0000:1f:00.0.link_width."""
        return ".".join(step.name for step in self.steps)

    @property
    def uncompared(self) -> bool:
        """Whether one of the two was never asked for this fact."""
        return is_unasked(self.before) or is_unasked(self.after)

    @property
    def unread_after(self) -> bool:
        """Whether the second snapshot does not know what the first one knew."""
        return is_unread(self.after) and not is_unread(self.before)


class SnapshotWalk:
    """A walk through two snapshots, side by side."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        self._before, self._after = before, after
        self._earlier, self._later = ItemNames(before.listed_gpus), ItemNames(after.listed_gpus)
        self._pasted = TEXT in {before.origin, after.origin}

    def differences(self) -> Iterator[Difference]:
        """Yield every fact that differs, in the order of the snapshot's fields."""
        for name in Snapshot.__struct_fields__:
            if name not in FILE_FIELDS:
                yield from self._field(self._before, self._after, name, (), volatile=False)

    def key(self, item: msgspec.Struct) -> str:
        """Return what an item of a list is known by."""
        return next(iter(self._earlier.of((item,))))

    def _field(self, before: Any, after: Any, name: str, way: tuple[PathStep, ...], *, volatile: bool) -> Iterator[Difference]:
        kind = type(before)
        volatile = volatile or name in VOLATILE.get(kind, ()) or (kind is Fact and name == "where" and self._pasted)
        one, other = getattr(before, name), getattr(after, name)
        owner = (kind.__name__, name)
        yield from self._value(
            one, other, (*way, PathStep(name, one if isinstance(one, msgspec.Struct) else None)), owner, volatile=volatile
        )

    def _value(self, one: Any, other: Any, way: tuple[PathStep, ...], owner: tuple[str, str], *, volatile: bool) -> Iterator[Difference]:
        if one == other:
            return
        if _is_struct(one) and type(one) is type(other):
            for name in one.__struct_fields__:
                yield from self._field(one, other, name, way, volatile=volatile)
        elif isinstance(one, dict) and isinstance(other, dict):
            for key in sorted({*one, *other}):
                yield from self._value(one.get(key), other.get(key), (*way, PathStep(key, None, item=True)), owner, volatile=volatile)
        elif _is_list(one, other):
            yield from self._list(one, other, way, owner, volatile=volatile)
        elif not (is_unasked(one) and is_unasked(other)):
            yield Difference(way, one, other, owner, volatile)

    def _list(
        self, before: Sequence[Any], after: Sequence[Any], way: tuple[PathStep, ...], owner: tuple[str, str], *, volatile: bool
    ) -> Iterator[Difference]:
        found = False
        for key, one, other in item_pairs(before, after, self._earlier, self._later):
            for difference in self._value(one, other, (*way, PathStep(key, one or other, item=True)), owner, volatile=volatile):
                found = True
                yield difference
        if not found:
            yield Difference(way, _item_keys(before), _item_keys(after), owner, volatile)


def _item_keys(items: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of items whose order is all that changed."""
    return tuple(ItemNames(()).of(items))


def _is_struct(value: Any) -> bool:
    return isinstance(value, msgspec.Struct) and not isinstance(value, Missing)


def _is_list(one: Any, other: Any) -> bool:
    """Return whether both are lists of structs; lists of words are compared as a whole."""
    both = isinstance(one, tuple) and isinstance(other, tuple)
    return both and all(isinstance(item, msgspec.Struct) for item in (*one, *other))
