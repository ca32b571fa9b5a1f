"""Reads what people paste and attach: a gpudoctor report, or text from other tools, as a Snapshot."""

from __future__ import annotations

from gpudoctor.errors import UsageError
from gpudoctor.matrix import Matrix
from gpudoctor.read.found import hits_in
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import gpudoctor_report
from gpudoctor.read.sections import assemble
from gpudoctor.read.signs import Signs
from gpudoctor.read.stating import statements_in
from gpudoctor.snapshot import Snapshot

__all__ = ["read_text"]


def read_text(data: bytes, name: str, matrix: Matrix, created: str) -> Snapshot:
    """Return the machine that a text describes. Raises UsageError, with what to paste, if no line of it is recognised."""
    lines = lines_of(data, name)
    reports = gpudoctor_report.reports(lines)
    own = {line.number for report in reports for line in report}
    others = [line for line in lines if line.number not in own]
    hits = hits_in(others)
    statements = [*(one for report in reports for one in gpudoctor_report.statements(report)), *statements_in(others, hits)]
    signs = Signs.among(hits, own=[line for line in lines if line.number in own])
    if not (statements or signs.faults or signs.noise):
        raise UsageError(
            f"Nothing in {name} is recognised. Paste the whole error message and log, and the output of `nvidia-smi`, "
            "`python -m torch.utils.collect_env` or `gpudoctor check --format json`."
        )
    return assemble(lines, statements, signs, matrix, created)
