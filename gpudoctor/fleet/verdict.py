"""Decides what the whole fleet comes to, and which nodes are usable."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Verdict
from gpudoctor.findings.naming import counted, joined
from gpudoctor.fleet.roster import NO_REPORT, Row
from gpudoctor.report.fleet import Requirement

WORST: Final = (Verdict.BROKEN.value, NO_REPORT, Verdict.UNKNOWN.value, Verdict.DEGRADED.value, Verdict.READY.value)
"""Verdicts of nodes, the worst first."""


class Decision(msgspec.Struct, frozen=True):
    """The verdict of the fleet."""

    verdict: str
    because: str
    exit_code: int


def is_usable(row: Row, *, strict: bool, suspect: Collection[str]) -> bool:
    """Return whether a job can run on a node; `strict` also leaves out the degraded, and the suspect, which drift or are slow."""
    if strict:
        return row.verdict == Verdict.READY.value and row.name not in suspect
    return row.verdict in {Verdict.READY.value, Verdict.DEGRADED.value}


def decide(
    rows: Sequence[Row], suspect: Collection[str], requirements: Sequence[Requirement], lost: int, *, strict: bool, enough: bool
) -> Decision:
    """Return the verdict; `lost` inputs of unknown nodes could not be read.

    If the usable nodes are `enough`, as a requirement says, those that are left out do not break the fleet.
    """
    verdict, because = _of_nodes(rows, suspect, lost, enough=enough)
    unmet = [f"{one.text} is not met: {one.reason}" for one in requirements if one.met is False]
    unchecked = [f"{one.text} could not be checked: {one.reason}" for one in requirements if one.met is None]
    if unmet:
        verdict, because = Verdict.BROKEN, "; ".join(unmet)
    elif unchecked and verdict is not Verdict.BROKEN:
        verdict, because = Verdict.UNKNOWN, "; ".join(unchecked)
    codes = {Verdict.BROKEN: BROKEN, Verdict.UNKNOWN: UNKNOWN, Verdict.DEGRADED: BROKEN if strict else READY, Verdict.READY: READY}
    return Decision(verdict.value, because, codes[verdict])


def _of_nodes(rows: Sequence[Row], suspect: Collection[str], lost: int, *, enough: bool) -> tuple[Verdict, str]:
    if not rows:
        return Verdict.UNKNOWN, "no report could be used"
    counts = {word: sum(row.verdict == word for row in rows) for word in WORST}
    clean = sum(row.verdict == Verdict.READY.value and row.name not in suspect for row in rows)
    said = [_said(word, number) for word, number in counts.items() if number and word != Verdict.READY.value]
    differing = counts[Verdict.READY.value] - clean
    if differing:
        said.append(f"{counted(differing, 'node')} {'differs' if differing == 1 else 'differ'} from the others")
    if lost:
        said.append(f"{counted(lost, 'input')} could not be read")
    because = joined(said) if said else f"all {counted(len(rows), 'node')} are ready" if len(rows) > 1 else "the node is ready"
    if clean == len(rows) and not lost:
        return Verdict.READY, because
    if counts[Verdict.BROKEN.value] and not enough:
        return Verdict.BROKEN, because
    if (counts[NO_REPORT] or counts[Verdict.UNKNOWN.value] or lost) and not enough:
        return Verdict.UNKNOWN, because
    return Verdict.DEGRADED, because


def _said(word: str, number: int) -> str:
    if word == NO_REPORT:
        return f"{counted(number, 'node')} sent no report"
    return f"{counted(number, 'node')} {'is' if number == 1 else 'are'} {word}"
