"""What facts of a text say for a cause: functions that yield evidence and, as rules do, end where a fact is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudoctor.derive import CouldNotTell, MachineView, NotApplicable
from gpudoctor.findings import Evidence

EvidenceSource = Callable[[MachineView, str], Iterator[Evidence]]
"""Yields what speaks for a cause, of a machine and the lines of its log."""
EvidenceByCause = dict[str, tuple[EvidenceSource, ...]]
"""Causes, and what speaks for each."""


class TextEvidence(Evidence, frozen=True):
    """What stands in a text. Unlike a fact that a reader stated, it does not count where it is the line of the error itself."""


class HintEvidence(TextEvidence, frozen=True):
    """A line with the words of a hint."""


def first_evidence(asks: tuple[EvidenceSource, ...], machine: MachineView, text: str) -> Evidence | None:
    """Return the first evidence of these functions; None if there is none."""
    for ask in asks:
        try:
            found = next(ask(machine, text), None)
        except (CouldNotTell, NotApplicable):
            continue
        if found is not None:
            return found
    return None
