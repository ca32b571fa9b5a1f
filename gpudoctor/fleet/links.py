"""Locates slow, wrong and hanging links between nodes: pairs first, then all together, then bisection."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import msgspec

from gpudoctor.digits import short_number
from gpudoctor.exit_codes import BROKEN
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import joined_words
from gpudoctor.fleet.verdict import WORST_FIRST
from gpudoctor.report.fleet import Fleet, LinkFault, Links
from gpudoctor.report.hostlist import nodes_of_names

NodeNames = tuple[str, ...]
_MAX_FOR_ALL_PAIRS = 8
"""Up to so many nodes every pair is tried."""
_ROUNDS = 3
"""Rounds of pairs among more nodes: a bad node fails with several partners, a bad link with one."""
_STRIKES = 2
"""Pairs in which a node must fail to be blamed instead of its links."""
SLOW_SHARE = 0.5
"""A pair below this part of the median is slow."""
_FEWEST_PAIRS = 4
"""Fewest pairs whose rates are compared."""
_MAX_NAMED_FAULTS = 3
"""Faults that the verdict names."""


class Trial(msgspec.Struct, frozen=True):
    """One all-reduce among some nodes."""

    nodes: NodeNames
    trouble: str = ""
    """What went wrong, as a clause; empty if the result is right."""
    rate: float = 0.0
    """Bytes a second over the bus."""


class LinkResult(msgspec.Struct, frozen=True):
    """What the trials showed."""

    pairs: tuple[Trial, ...] = ()
    whole: Trial | None = None
    """The all-reduce among all nodes that are not to blame; None if none was right or fewer than three are left."""
    faults: tuple[LinkFault, ...] = ()


RunTrials = Callable[[Sequence[NodeNames]], Sequence[Trial]]
"""Runs one all-reduce in each of some groups that share no node, all at the same time."""


def locate_faults(nodes: Sequence[str], run: RunTrials) -> LinkResult:
    """Return which nodes and links are slow, wrong or hang."""
    pairs = _pair_trials(nodes, run)
    faults = [*_broken_faults(pairs), *_slow_faults(pairs)]
    while len(rest := _without_suspects(nodes, faults)) > 2:
        (whole,) = run([rest])
        if not whole.trouble:
            return LinkResult(tuple(pairs), whole, tuple(faults))
        faults += _faults_within(whole, run)
    return LinkResult(tuple(pairs), None, tuple(faults))


def _without_suspects(nodes: Sequence[str], faults: Sequence[LinkFault]) -> NodeNames:
    """Return the nodes without those to blame, and without one end of each link to blame; none if the group as a whole is."""
    out = {fault.nodes[-1] for fault in faults if fault.kind == "broken"}
    together = any(len(fault.nodes) > 2 for fault in faults)
    return () if together else tuple(node for node in nodes if node not in out)


def _pair_trials(nodes: Sequence[str], run: RunTrials) -> list[Trial]:
    """Return the trials of some rounds of pairs; a node that has failed with several partners, and worked with none, sits out."""
    trials: list[Trial] = []
    for pairs in pair_rounds(nodes):
        good = _trial_counts(trial for trial in trials if not trial.trouble)
        out = {node for node in _blamed_nodes(trials) if not good[node]}
        playing = [pair for pair in pairs if not out.intersection(pair)]
        trials += run(playing) if playing else []
    while doubtful := _pairs_to_repeat(trials):
        trials += run(doubtful)
    slow = set(_slow_pairs(trials))
    return [_better_trial(trial, run) if trial in slow else trial for trial in trials]


def _pairs_to_repeat(trials: Sequence[Trial]) -> list[NodeNames]:
    """Return a pair for each node that has neither worked nor is to blame: with a partner that works, to tell a bad node from a bad link."""
    good, blamed = _trial_counts(trial for trial in trials if not trial.trouble), _blamed_nodes(trials)
    tried, partners = {frozenset(trial.nodes) for trial in trials}, list(good)
    pairs: list[NodeNames] = []
    for node in _trial_counts(trials):
        partner = next((one for one in partners if {node, one} not in tried), None)
        if partner is not None and not good[node] and node not in blamed:
            partners.remove(partner)
            pairs.append((node, partner))
    return pairs


def _better_trial(trial: Trial, run: RunTrials) -> Trial:
    """Return the better of a slow trial and another one without other pairs beside it."""
    (again,) = run([trial.nodes])
    return again if not again.trouble and again.rate > trial.rate else trial


def _slow_pairs(pairs: Sequence[Trial]) -> list[Trial]:
    """Return the slow ones of enough pairs."""
    measured = [trial for trial in pairs if not trial.trouble]
    limit = SLOW_SHARE * _median_rate(measured) if len(measured) >= _FEWEST_PAIRS else 0.0
    return [trial for trial in measured if trial.rate < limit]


def _median_rate(measured: Sequence[Trial]) -> float:
    return statistics.median(trial.rate for trial in measured)


def pair_rounds(nodes: Sequence[str]) -> Iterator[list[NodeNames]]:
    """Yield rounds of pairs in which no node is in two pairs and no pair comes twice: the circle method of tournaments."""
    first, *circle = [*nodes, *([""] if len(nodes) % 2 else [])] or [""]
    number = len(circle) if len(nodes) <= _MAX_FOR_ALL_PAIRS else _ROUNDS
    for _ in range(number):
        seats = [first, *circle]
        half = len(seats) // 2
        yield [pair for pair in zip(seats[:half], reversed(seats[half:]), strict=True) if "" not in pair]
        circle = [*circle[1:], circle[0]]


def _blamed_nodes(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """Return the nodes that failed in several pairs, with these; each failure counts against one node, first against those that never work.

    Without one node with two broken links all others work, so it is blamed and neither of its partners.
    """
    good = _trial_counts(trial for trial in trials if not trial.trouble)
    left = [trial for trial in trials if trial.trouble]
    blamed: dict[str, list[Trial]] = {}
    while strikes := {node: count for node, count in _trial_counts(left).items() if count >= _STRIKES}:
        worst = max(strikes, key=lambda node: (not good[node], strikes[node]))
        blamed[worst] = [trial for trial in left if worst in trial.nodes]
        left = [trial for trial in left if worst not in trial.nodes]
    return blamed


def _trial_counts(trials: Iterable[Trial]) -> Counter[str]:
    """Return in how many trials each node took part."""
    return Counter(chain.from_iterable(trial.nodes for trial in trials))


def _broken_faults(pairs: Sequence[Trial]) -> Iterator[LinkFault]:
    blamed, tried = _blamed_nodes(pairs), _trial_counts(pairs)
    for node, failed in sorted(blamed.items()):
        message = f"all-reduce fails with {len(failed)} of {tried[node]} other nodes: {failed[0].trouble}"
        yield LinkFault(kind="broken", nodes=(node,), message=message)
    for trial in pairs:
        if trial.trouble and not any(trial in failed for failed in blamed.values()):
            yield LinkFault(kind="broken", nodes=trial.nodes, message=trial.trouble)


def _slow_faults(pairs: Sequence[Trial]) -> Iterator[LinkFault]:
    """Yield nodes that are slow with every partner, and pairs that are slow although both are fast with others."""
    slow, measured = _slow_pairs(pairs), [trial for trial in pairs if not trial.trouble]
    if not slow:
        return
    median = _median_rate(measured)
    tried, behind = _trial_counts(measured), _trial_counts(slow)
    nodes = {node for node, count in behind.items() if count == tried[node] and count >= _STRIKES}
    for node in sorted(nodes):
        best = max(trial.rate for trial in slow if node in trial.nodes)
        yield LinkFault(
            kind="slow", nodes=(node,), message=f"{_rate_text(best, median)} at best, with {behind[node]} other nodes", rate=best
        )
    for trial in slow:
        if not nodes.intersection(trial.nodes):
            yield LinkFault(kind="slow", nodes=trial.nodes, message=_rate_text(trial.rate, median), rate=trial.rate)


def _rate_text(rate: float, median: float) -> str:
    return f"{short_number(rate / 1e9)} GB/s where the median pair has {short_number(median / 1e9)} GB/s"


def _faults_within(failed: Trial, run: RunTrials) -> Iterator[LinkFault]:
    """Yield what is to blame in a group that fails."""
    if len(failed.nodes) == 2:
        yield LinkFault(kind="broken", nodes=failed.nodes, message=failed.trouble)
        return
    halves = _halves(failed.nodes)
    broken = [trial for trial in run([half for half in halves if len(half) > 1]) if trial.trouble]
    for trial in broken:
        yield from _faults_within(trial, run)
    if not broken:
        yield from _faults_between(*halves, failed, run)


def _faults_between(one: NodeNames, other: NodeNames, failed: Trial, run: RunTrials) -> Iterator[LinkFault]:
    """Yield the links to blame between two groups that work, each alone, and fail together."""
    if len(one) == len(other) == 1:
        yield LinkFault(kind="broken", nodes=(*one, *other), message=failed.trouble)
        return
    found = False
    quarters = _halves(one), _halves(other)
    for straight in (True, False):
        theirs = quarters[1] if straight else quarters[1][::-1]
        sides = {mine + its: (mine, its) for mine, its in zip(quarters[0], theirs, strict=True) if mine and its}
        for trial in run(list(sides)):
            if trial.trouble:
                found = True
                yield from _faults_between(*sides[trial.nodes], trial, run)
    if not found:
        message = f"{failed.trouble}, only with all {len(failed.nodes)} nodes together"
        yield LinkFault(kind="broken", nodes=failed.nodes, message=message)


def _halves(group: NodeNames) -> tuple[NodeNames, NodeNames]:
    middle = len(group) // 2
    return group[:middle], group[middle:]


def fleet_with_links(fleet: Fleet, links: Links) -> Fleet:
    """Return the fleet with what was found between its nodes, which can make its verdict worse and nodes unusable."""
    out = {fault.nodes[-1] for fault in links.faults if fault.kind == "broken"}
    usable = [name for name in fleet.usable.names if name not in out]
    more = msgspec.structs.replace(
        fleet,
        links=links,
        nodes=tuple(msgspec.structs.replace(node, usable=False) if node.name in out else node for node in fleet.nodes),
        usable=nodes_of_names(usable),
        unusable=nodes_of_names({*fleet.unusable.names, *out}),
    )
    if not links.faults:
        return more
    worse = Verdict.BROKEN.value if out else Verdict.DEGRADED.value
    said = joined_words([_fault_text(fault) for fault in links.faults[:_MAX_NAMED_FAULTS]]) + (
        " and elsewhere" if len(links.faults) > _MAX_NAMED_FAULTS else ""
    )
    because = f"{fleet.because}; {said}" if fleet.verdict != Verdict.READY.value else said
    if WORST_FIRST.index(worse) > WORST_FIRST.index(fleet.verdict):
        return msgspec.structs.replace(more, because=because)
    return msgspec.structs.replace(more, verdict=worse, because=because, exit_code=BROKEN if out else fleet.exit_code)


def _fault_text(fault: LinkFault) -> str:
    """Return a fault as a clause."""
    what = "all-reduce is slow" if fault.kind == "slow" else "all-reduce fails"
    if len(fault.nodes) > 2:
        return f"{what} among {len(fault.nodes)} nodes together"
    return f"{what} {'on' if len(fault.nodes) == 1 else 'between'} {' and '.join(fault.nodes)}"
