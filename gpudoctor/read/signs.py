"""The lines of a text that point to a fault or to its cause, and those that only look as if they did."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpudoctor.line_forms import LineForms
from gpudoctor.read.statements import Line
from gpudoctor.signatures.hints import HARMLESS, HINTS
from gpudoctor.signatures.table import SIGNATURES


class Signs(msgspec.Struct, frozen=True):
    """Lines by what they are signs of."""

    faults: tuple[Line, ...]
    """A signature matches."""
    log: tuple[Line, ...]
    """The faults, and what speaks for one of their causes; empty without a fault."""
    noise: tuple[Line, ...]
    """Known to be harmless."""
    own: tuple[Line, ...] = ()
    """Of gpudoctor's own reports, which are no log."""

    @classmethod
    def among(cls, lines: Sequence[Line], own: Sequence[Line] = ()) -> Signs:
        """Return the signs among the lines, in their order, beside the lines of gpudoctor's `own` reports."""
        faults = _matching(lines, [one.pattern for one in SIGNATURES])
        hints = _matching(lines, [one.pattern for one in HINTS]) if faults else ()
        return cls(
            faults=faults,
            log=tuple(sorted({*faults, *hints}, key=lambda line: line.number)),
            noise=_matching(lines, [pattern for pattern, _ in HARMLESS]),
            own=tuple(own),
        )


def _matching(lines: Sequence[Line], patterns: Sequence[str]) -> tuple[Line, ...]:
    forms = LineForms(patterns).within("\n".join(line.text for line in lines))
    return tuple(line for line in lines if next(forms.on(line.text), None))
