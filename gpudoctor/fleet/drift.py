"""Says which facts are not the same on all nodes of the same hardware, and who is in the minority.

A fact that more than half of the nodes share has a majority; the others drift. A fact whose values are each on few nodes, such as a serial
number, belongs to the node and is not compared. In between, where a few values share the nodes, the fleet is split. What changes by itself is
never compared (`snapshot/volatile.py`), nor is what a node could not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import or_
from typing import Any, Final

import msgspec

from gpudoctor.changes import change_text, gpu_names_by_key
from gpudoctor.changes.change_lines import ChangeLine, lines_of_changes
from gpudoctor.changes.fact_words import GPU_LISTS
from gpudoctor.changes.fields_read import FieldsRead, recorded_runs
from gpudoctor.changes.walk import Difference
from gpudoctor.findings import Policy
from gpudoctor.fleet.node_groups import DifferingFact, NodeGroup
from gpudoctor.fleet.roster import Roster
from gpudoctor.fleet.steady_facts import is_about_equal
from gpudoctor.matrix import Matrix
from gpudoctor.report.fleet import Deviation, Drift
from gpudoctor.snapshot import Snapshot

_SPLIT_SHARE: Final = 4
"""Of a split fact, the most frequent value is on one in so many nodes at least."""
_KNOWN_SHARE: Final = 10
"""Of a fact that drifts, one in so many nodes at least knows the value."""
_MAX_VALUES: Final = 50
"""Values with which another one is compared before it counts as different."""
_MAX_FOLDED: Final = 80
"""Differences of the same nodes that are put on as few lines as possible; of more, those that rules read."""


class _ValueNodes(msgspec.Struct):
    value: Any
    places: int
    """The nodes that have it."""


class _DriftingFact(msgspec.Struct):
    """A fact that drifts."""

    fact: DifferingFact
    expected: Any
    agreeing: int
    of: int
    split: bool
    others: list[_ValueNodes]


class _GrowingDrift(msgspec.Struct):
    """A drift in the making: its lines, by value."""

    line: ChangeLine
    kept: _DriftingFact
    path: str
    deviations: dict[str, tuple[str, list[int]]] = {}
    """By the value in words: the whole line, and the nodes that have it, a set for each of their GPUs."""
    also: dict[str, None] = {}


class NodeDrift(msgspec.Struct, frozen=True):
    """A drift, and the nodes that deviate."""

    told: Drift
    places: int


def drifts_of_group(
    group: NodeGroup, hardware: str, roster: Roster, matrix: Matrix, ignored: Callable[[str], bool], *, golden: bool
) -> list[NodeDrift]:
    """Return the drifts of one group."""
    group.settle()
    if group.base is None:
        return []
    everyone = group.nodes.as_set() & roster.everyone
    kept = [one for path, fact in group.facts.items() if not ignored(path) and (one := _drifting_fact(fact, everyone, golden=golden))]
    record = FieldsRead()
    if kept:
        recorded_runs(group.base, matrix, Policy(level=None), record)
    told: dict[tuple[str, str, str], _GrowingDrift] = {}
    for of, found in _differences_by_nodes(kept, record).items():
        _add_lines(told, of, found, group.base)
    made = [_finished_drift(one, hardware, roster, record) for one in told.values()]
    return sorted(
        made,
        key=lambda drifting: (
            not drifting.told.read_by_rules,
            drifting.told.split,
            drifting.told.agreeing - drifting.told.of,
            drifting.told.path,
        ),
    )


def _drifting_fact(fact: DifferingFact, everyone: int, *, golden: bool) -> _DriftingFact | None:
    """Return what drifts; None for a fact that is each node's own, or that is the same on all nodes that know it."""
    if fact.own:
        return None
    values = _values_with_nodes(fact, everyone)
    expected = values[0] if golden else max(values, key=lambda having: having.places.bit_count())
    deviating = [having for having in values if having is not expected and having.places]
    agreeing, of = expected.places.bit_count(), sum(having.places.bit_count() for having in values)
    is_split = not golden and 2 * agreeing <= of
    is_own = 2 * len(values) > of and (is_split or (golden and len(deviating) > 1))
    if not deviating or is_own or (is_split and _SPLIT_SHARE * agreeing < of) or _KNOWN_SHARE * of < everyone.bit_count():
        return None
    return _DriftingFact(fact, expected.value, agreeing, of, is_split, deviating)


def _values_with_nodes(fact: DifferingFact, everyone: int) -> list[_ValueNodes]:
    """Return the values of a fact and the nodes with each, the first one is that of the base; near sizes are one value."""
    found = [_ValueNodes(fact.first.before, everyone & ~fact.unread.as_set())]
    for value in fact.values.values():
        places = value.having.as_set() & everyone
        found[0].places &= ~places
        known = next((other for other in found[:_MAX_VALUES] if is_about_equal(other.value, value.value)), None)
        if known is not None:
            known.places |= places
        elif places:
            found.append(_ValueNodes(value.value, places))
    return found


def _differences_by_nodes(kept: Iterable[_DriftingFact], record: FieldsRead) -> dict[int, list[tuple[_DriftingFact, Difference]]]:
    """Return what differs by the nodes on which it does: the same nodes have one cause."""
    groups: dict[int, list[tuple[_DriftingFact, Difference]]] = {}
    for one in kept:
        first = one.fact.first
        for other in one.others:
            groups.setdefault(other.places, []).append(
                (one, Difference(first.steps, one.expected, other.value, first.owner, first.volatile))
            )
    for found in groups.values():
        found.sort(key=lambda pair: pair[1].owner not in record.read)
        del found[_MAX_FOLDED:]
    return groups


def _add_lines(
    told: dict[tuple[str, str, str], _GrowingDrift], places: int, found: list[tuple[_DriftingFact, Difference]], base: Snapshot
) -> None:
    whose = {id(difference): kept for kept, difference in found}
    for line in lines_of_changes((difference for _, difference in found), gpu_names_by_key(base)):
        path = _path_for_any_gpu(line.leader)
        if path.endswith("*"):
            line.subject, line.what = "GPU", ""
        elif "*" in path:
            line.subject = ""
        entry = told.setdefault((path, line.what, line.before), _GrowingDrift(line, whose[id(line.leader)], path))
        value = line.after or ("not there" if line.leader.after is None else "")
        entry.deviations.setdefault(value, (_deviation_text(line), []))[1].append(places)
        entry.also.update(dict.fromkeys(map(_path_for_any_gpu, line.also)))


def _deviation_text(line: ChangeLine) -> str:
    """Return a deviation as one line: "driver 550.163.01 → 550.54.15", "GPU: missing"."""
    named, value = f"{line.subject} {line.what}".strip(), line.after
    if line.leader.before is None:
        return f"{named}{'' if value in {'', 'present'} or value in named else f' {value}'}: not on most nodes"
    return f"{named}: missing" if line.leader.after is None else change_text(line, "changed")


def _path_for_any_gpu(difference: Difference) -> str:
    """Return the path of a fact with * for the GPU: all GPUs of a model have it."""
    return ".".join("*" if step.item and type(step.holder).__name__ in GPU_LISTS else step.name for step in difference.steps)


def _finished_drift(told: _GrowingDrift, hardware: str, roster: Roster, record: FieldsRead) -> NodeDrift:
    kept, line = told.kept, told.line
    named = f"{line.subject} {line.what}".strip()
    drift = Drift(
        path=told.path,
        hardware=hardware,
        what=named or told.path,
        expected=line.before,
        agreeing=kept.agreeing,
        of=kept.of,
        deviations=tuple(sorted(_finished_deviations(told, roster), key=lambda deviation: (-deviation.nodes.count, deviation.value))),
        read_by_rules=any(difference.owner in record.read for difference in (line.leader, *line.also)),
        split=kept.split,
        also=tuple(told.also),
    )
    return NodeDrift(drift, reduce(or_, (places for _, sets in told.deviations.values() for places in sets)))


def _finished_deviations(told: _GrowingDrift, roster: Roster) -> Iterator[Deviation]:
    for value, (line, sets) in told.deviations.items():
        gpus = sum(one.bit_count() for one in sets) if "*" in told.path else 0
        yield Deviation(value=value, line=line, nodes=roster.nodes(reduce(or_, sets)), gpus=gpus)
