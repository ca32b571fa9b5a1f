"""Decides what the whole fleet comes to, and which nodes are usable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import count_with_noun, joined_words
from gpudoctor.fleet.roster import NO_REPORT
from gpudoctor.report.fleet import Requirement

WORST_FIRST: Final = (Verdict.BROKEN.value, NO_REPORT, Verdict.UNKNOWN.value, Verdict.DEGRADED.value, Verdict.READY.value)
"""Verdicts of nodes, the worst first."""


class Decision(msgspec.Struct, frozen=True):
    """The verdict of the fleet."""

    verdict: str
    because: str
    exit_code: int


def usable_nodes(verdicts: Mapping[str, int], *, strict: bool, suspect: int) -> int:
    """Return the nodes on which a job can run; `strict` also leaves out the degraded, and the suspect, which drift or are slow."""
    ready = verdicts[Verdict.READY.value]
    return ready & ~suspect if strict else ready | verdicts[Verdict.DEGRADED.value]


def fleet_decision(
    verdicts: Mapping[str, int], suspect: int, requirements: Sequence[Requirement], lost: int, *, strict: bool, enough: bool
) -> Decision:
    """Return the verdict from the nodes with each; `lost` inputs of unknown nodes could not be read.

    If the usable nodes are `enough`, as a requirement says, those that are left out do not break the fleet.
    """
    differing = (verdicts[Verdict.READY.value] & suspect).bit_count()
    verdict, because = _verdict_of_nodes({word: some.bit_count() for word, some in verdicts.items()}, differing, lost, enough=enough)
    unmet = [f"{requirement.text} is not met: {requirement.reason}" for requirement in requirements if requirement.met is False]
    unchecked = [
        f"{requirement.text} could not be checked: {requirement.reason}" for requirement in requirements if requirement.met is None
    ]
    if unmet:
        verdict, because = Verdict.BROKEN, "; ".join(unmet)
    elif unchecked and verdict is not Verdict.BROKEN:
        verdict, because = Verdict.UNKNOWN, "; ".join(unchecked)
    codes = {Verdict.BROKEN: BROKEN, Verdict.UNKNOWN: UNKNOWN, Verdict.DEGRADED: BROKEN if strict else READY, Verdict.READY: READY}
    return Decision(verdict.value, because, codes[verdict])


def _verdict_of_nodes(counts: Mapping[str, int], differing: int, lost: int, *, enough: bool) -> tuple[Verdict, str]:
    total = sum(counts.values())
    if not total:
        return Verdict.UNKNOWN, "no report could be used"
    said = [_count_text(word, number) for word, number in counts.items() if number and word != Verdict.READY.value]
    if differing:
        said.append(f"{count_with_noun(differing, 'node')} {'differs' if differing == 1 else 'differ'} from the others")
    if lost:
        said.append(f"{count_with_noun(lost, 'input')} could not be read")
    because = joined_words(said) if said else f"all {count_with_noun(total, 'node')} are ready" if total > 1 else "the node is ready"
    if not said:
        return Verdict.READY, because
    if counts[Verdict.BROKEN.value] and not enough:
        return Verdict.BROKEN, because
    if (counts[NO_REPORT] or counts[Verdict.UNKNOWN.value] or lost) and not enough:
        return Verdict.UNKNOWN, because
    return Verdict.DEGRADED, because


def _count_text(word: str, number: int) -> str:
    if word == NO_REPORT:
        return f"{count_with_noun(number, 'node')} sent no report"
    return f"{count_with_noun(number, 'node')} {'is' if number == 1 else 'are'} {word}"
