"""What of a text was recognised, and its lines that are signs of a fault."""

from __future__ import annotations

from collections.abc import Sequence

from gpudoctor.read.signs import Signs
from gpudoctor.read.statements import Line, Statement
from gpudoctor.snapshot import Fact, Reading, TextLog


def text_log(lines: Sequence[Line], statements: Sequence[Statement], signs: Signs) -> TextLog:
    """Return the signs of a fault, and which reader recognised how much."""
    used = {one.line for one in statements} | {line.number for line in (*signs.log, *signs.noise)}
    return TextLog(
        lines=tuple(Fact(line.text, f"line {line.number}") for line in signs.log),
        readings=tuple(_reading(reader, statements) for reader in dict.fromkeys(one.reader for one in statements)),
        total=len(lines),
        used=len(used),
    )


def _reading(reader: str, statements: Sequence[Statement]) -> Reading:
    numbers = [one.line for one in statements if one.reader == reader]
    return Reading(reader=reader, facts=len(numbers), first=min(numbers), last=max(numbers))
