"""What one file of a text says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.read.bug_report import lines_before_report
from gpudoctor.read.change_texts import describes_change
from gpudoctor.read.comparison_tables import with_failing_column
from gpudoctor.read.comparisons import has_common_fact, lines_of_working_machine
from gpudoctor.read.hits import FAULT_TABLE, HINT_TABLE, PatternHit, hits_in
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import gpudoctor_report
from gpudoctor.read.statement_search import statements_in
from gpudoctor.read.statements import Line, Statement


class TextPart(NamedTuple):
    """One file of a text. Formats do not go on from one file to the next."""

    name: str
    lines: list[Line]
    statements: list[Statement]
    hits: list[PatternHit]
    own: list[Line]
    """Of gpudoctor's own reports, which are no log."""
    told: Sequence[Line]
    """What people may have written of what fails: no lines of a bug report."""
    is_change: bool = False
    """It describes a change to a program, so nothing in it is said of a machine that fails."""

    @property
    def is_unrecognised(self) -> bool:
        """Whether nothing in it is recognised. A hint alone is no sign."""
        return not self.statements and all(hit.table == HINT_TABLE for hit in self.hits)

    @classmethod
    def of(cls, data: bytes, name: str, *, file: str) -> TextPart:
        """Return what `data` says; evidence names the `file`. Raises UsageError, with `name`, if it is too large to be a pasted text."""
        lines = lines_of(data, name, file)
        reports = gpudoctor_report.report_lines(lines)
        numbers = {line.number for report in reports for line in report}
        others = with_failing_column([line for line in lines if line.number not in numbers])
        is_change = describes_change(others)
        others = [] if is_change else others
        hits = hits_in(others)
        statements = [
            *(statement for report in reports for statement in gpudoctor_report.report_statements(report)),
            *_statements_without_comparison(others, hits),
        ]
        if file:
            statements = [msgspec.structs.replace(statement, file=file) for statement in statements]
        own = [line for line in lines if line.number in numbers]
        return cls(name, lines, statements, hits, own, lines_before_report(others), is_change)


def _statements_without_comparison(lines: Sequence[Line], hits: Sequence[PatternHit]) -> list[Statement]:
    """Return what the lines state, without what they state of another environment that works."""
    works = lines_of_working_machine(lines, {hit.line.number for hit in hits if hit.table == FAULT_TABLE})
    if not works:
        return statements_in(lines, hits)
    numbers = {line.number for line in works}
    fine = statements_in(works, [hit for hit in hits if hit.line.number in numbers])
    rest = statements_in([line for line in lines if line.number not in numbers], [hit for hit in hits if hit.line.number not in numbers])
    return rest if has_common_fact(fine, rest) else statements_in(lines, hits)
