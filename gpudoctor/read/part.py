"""What one file of a text says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.read.bug_report import before_report
from gpudoctor.read.columns import of_what_fails
from gpudoctor.read.compared import says_the_same, working
from gpudoctor.read.found import FAULT, HINT, Hit, hits_in
from gpudoctor.read.lines import lines_of
from gpudoctor.read.patches import describes_change
from gpudoctor.read.readers import gpudoctor_report
from gpudoctor.read.statements import Line, Statement
from gpudoctor.read.stating import statements_in


class Part(NamedTuple):
    """One file of a text. Formats do not go on from one file to the next."""

    name: str
    lines: list[Line]
    statements: list[Statement]
    hits: list[Hit]
    own: list[Line]
    """Of gpudoctor's own reports, which are no log."""
    told: Sequence[Line]
    """What people may have written of what fails: no lines of a bug report."""
    is_change: bool = False
    """It describes a change to a program, so nothing in it is said of a machine that fails."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing in it is recognised. A hint alone is no sign."""
        return not self.statements and all(hit.table == HINT for hit in self.hits)

    @classmethod
    def of(cls, data: bytes, name: str, *, file: str) -> Part:
        """Return what `data` says; evidence names the `file`. Raises UsageError, with `name`, if it is too large to be a pasted text."""
        lines = lines_of(data, name, file)
        reports = gpudoctor_report.reports(lines)
        numbers = {line.number for report in reports for line in report}
        others = of_what_fails([line for line in lines if line.number not in numbers])
        is_change = describes_change(others)
        others = [] if is_change else others
        hits = hits_in(others)
        statements = [
            *(statement for report in reports for statement in gpudoctor_report.statements(report)),
            *_of_what_fails(others, hits),
        ]
        if file:
            statements = [msgspec.structs.replace(statement, file=file) for statement in statements]
        own = [line for line in lines if line.number in numbers]
        return cls(name, lines, statements, hits, own, before_report(others), is_change)


def _of_what_fails(lines: Sequence[Line], hits: Sequence[Hit]) -> list[Statement]:
    """Return what the lines state, without what they state of another environment that works."""
    works = working(lines, {hit.line.number for hit in hits if hit.table == FAULT})
    if not works:
        return statements_in(lines, hits)
    numbers = {line.number for line in works}
    fine = statements_in(works, [hit for hit in hits if hit.line.number in numbers])
    rest = statements_in([line for line in lines if line.number not in numbers], [hit for hit in hits if hit.line.number not in numbers])
    return rest if says_the_same(fine, rest) else statements_in(lines, hits)
