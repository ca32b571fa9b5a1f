"""Reads a text through the real tables and rules."""

from __future__ import annotations

from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import FixKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_text
from gpudoctor.snapshot import Snapshot

CREATED = "2026-11-22T00:00:00Z"


def read(text: str, matrix: Matrix) -> Snapshot:
    return read_text(text.encode(), "pasted.txt", matrix, CREATED)


def causes(text: str, matrix: Matrix) -> list[str]:
    """The root causes without notes."""
    found = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes
    return [finding.name for finding in found if finding.severity is not Severity.NOTE]


def first_fix(text: str, matrix: Matrix) -> str:
    """The command of the first fix of the first cause."""
    fixes = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0].fixes
    return next((fix.command for fix in fixes if fix.kind is FixKind.FIX), "")


def is_read_or_refused(text: str, matrix: Matrix) -> bool:
    """Whether a text is diagnosed without a crash of a rule, or refused as unknown."""
    try:
        diagnosis = diagnose(read(text, matrix), matrix, Policy(level=None))
    except UsageError:
        return True
    return not any(outcome.kind == "crashed" for outcome in diagnosis.outcomes)
