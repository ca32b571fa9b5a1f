"""The lines of a text that point to a fault or to its cause, and those that only look as if they did."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.hits import FAULT_TABLE, HINT_TABLE, NOISE_TABLE, PatternHit, lines_with
from gpudoctor.read.statements import Line
from gpudoctor.signatures.likeness import text_likeness
from gpudoctor.snapshot import Likeness

_DOCUMENTATION_WORDS = expression(
    r"(?i)\b(?:docs?|documentation|read ?me(?:\.md)?|manual|wiki|changelog)\b[^\n\"\u201c]{0,60}\b(?:says?|said|states?|mentions?|reads?)\b[ :,]{0,2}(?:that )?[\"'`\u201c\u2018]"
)
"""A line that quotes what somebody wrote about an error, and not the error."""
_ASSERTION_WORDS = expression(r"\bAssertion\b|\bdevice-side assert\b")
_AFTER_ASSERTION = expression(r"(?i:\b(?:cuda|cudnn) error): CU(?:BLAS|DNN)_STATUS_")
"""A call that fails: in a process whose kernel failed an assertion every later call does."""


class FaultSigns(msgspec.Struct, frozen=True):
    """Lines by what they are signs of."""

    faults: tuple[Line, ...]
    """A signature matches."""
    log: tuple[Line, ...]
    """The faults, and what speaks for one of their causes; empty without a fault."""
    noise: tuple[Line, ...]
    """Known to be harmless."""
    own: tuple[Line, ...] = ()
    """Of gpudoctor's own reports, which are no log."""
    likeness: Likeness = Likeness()
    """What the words of the whole text are like."""

    @classmethod
    def among(cls, hits: Sequence[PatternHit], own: Sequence[Line] = (), told: Sequence[Line] = (), *, blind: bool = False) -> FaultSigns:
        """Return the signs among the hits, in the order of their lines, those of joined lines last, and the lines of gpudoctor's `own` reports.

        `told`: every other line.
        `blind`: a framework answered that it sees no GPU, which is a fault without a line of its own.
        """
        noise = tuple(lines_with(hits, NOISE_TABLE))
        harmless = {(line.file, line.number) for line in noise}  # a sign may be another way to read its line
        asserted = any(_ASSERTION_WORDS.search(line.text) for line in noise)
        faults = tuple(
            line
            for line in lines_with(hits, FAULT_TABLE)
            if not (_DOCUMENTATION_WORDS.search(line.text) or (asserted and _AFTER_ASSERTION.search(line.text)))
        )
        hints = tuple(lines_with(hits, HINT_TABLE)) if faults or blind else ()
        log = sorted(dict.fromkeys((*faults, *hints)), key=lambda line: (line.joined, line.file, line.number))
        return cls(
            faults=faults,
            log=tuple(log),
            noise=noise,
            own=tuple(own),
            likeness=text_likeness([line.text for line in told if not line.by_kernel and (line.file, line.number) not in harmless]),
        )
