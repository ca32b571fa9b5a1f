"""Compares the nodes of one hardware group with one of them, and counts who differs where. Snapshots are not kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from gpudoctor.changes.walk import Difference, is_unread
from gpudoctor.fleet.places import PlaceSet
from gpudoctor.fleet.steady_facts import SteadyWalk
from gpudoctor.snapshot import Missing, Snapshot

_MAX_CANDIDATES: Final = 32
"""Snapshots among which the one to compare with is chosen: of those in order, if any is, the one that knows the most."""
_MAX_VALUES: Final = 1000
"""Values of one fact that are told apart. A fact with more of them is each node's own."""
_MAX_FACTS: Final = 20_000
_MAX_IN_ALL: Final = 200_000
"""Facts that are followed, and their values; reports made to differ must not fill the memory."""


class FactValue(msgspec.Struct):
    """A value of a fact, and the nodes that have it."""

    value: Any
    having: PlaceSet


class DifferingFact(msgspec.Struct):
    """A fact in which some node differs from the base."""

    first: Difference
    """As the first node had it; `before` is what the base has."""
    values: dict[Any, FactValue] = {}
    """The values that differ from the base's."""
    unread: PlaceSet = msgspec.field(default_factory=PlaceSet)
    """The nodes that do not know it."""
    own: bool = False
    """Whether there are too many values to compare."""


class NodeGroup:
    """Nodes that are compared with each other."""

    def __init__(self, base: Snapshot | None = None) -> None:
        self.base = base
        self.facts: dict[str, DifferingFact] = {}
        self.nodes = PlaceSet()
        self._waiting: list[tuple[int, Snapshot, bool]] = []
        self._values = 0

    def add(self, place: int, snapshot: Snapshot, *, in_order: bool) -> None:
        """Add a node."""
        self.nodes.add(place)
        if self.base is not None:
            self._compare(place, snapshot)
            return
        self._waiting.append((place, snapshot, in_order))
        if len(self._waiting) == _MAX_CANDIDATES:
            self.settle()

    def settle(self) -> None:
        """Choose the node to compare with, if none is chosen yet, and compare those that wait."""
        if self.base is None and self._waiting:
            self.base = min(self._waiting, key=lambda one: (not one[2], -_known_count(one[1])))[1]
        for place, snapshot, _ in self._waiting:
            self._compare(place, snapshot)
        self._waiting.clear()

    def _compare(self, place: int, snapshot: Snapshot) -> None:
        for difference in SteadyWalk(self.base, snapshot).differences() if self.base is not None and snapshot is not self.base else ():
            fact = self.facts.get(difference.path)
            if fact is None:
                if len(self.facts) >= _MAX_FACTS:
                    continue
                fact = self.facts[difference.path] = DifferingFact(difference)
            self._note(fact, difference, place)

    def _note(self, fact: DifferingFact, difference: Difference, place: int) -> None:
        value = difference.after
        if is_unread(value) or is_unread(difference.before):  # where the base knows nothing, no node can be compared
            fact.unread.add(place)
        elif isinstance(value, Missing) and isinstance(difference.before, Missing) and value.cause is difference.before.cause:
            return  # the same gap in other words
        elif not fact.own:
            key = _value_key(value)
            if key not in fact.values:
                self._values += 1
                fact.values[key] = FactValue(value, PlaceSet())
            fact.values[key].having.add(place)
            if len(fact.values) > _MAX_VALUES or self._values > _MAX_IN_ALL:
                self._values -= len(fact.values)
                fact.own = True
                fact.values.clear()


def _value_key(value: Any) -> Any:
    """Return what a value is found by: itself, or its text if there is a table in it."""
    try:
        hash(value)
    except TypeError:
        return msgspec.json.encode(value, order="deterministic")
    return value


def _known_count(snapshot: Snapshot) -> int:
    """Return how many values a snapshot has."""
    return sum(not isinstance(one, Missing) for one in _nested_values(snapshot))


def _nested_values(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nested_values(item)
    elif isinstance(value, msgspec.Struct) and not isinstance(value, Missing):
        for name in value.__struct_fields__:
            yield from _nested_values(getattr(value, name))
    else:
        yield value
