"""What a framework logged during its smoke training, for findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.framework_log import relevant_lines
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.findings import Evidence, Fix, FixKind

if TYPE_CHECKING:
    from gpudoctor.diagnose.smoke_log import LogPointer

READ_OUTPUT = Fix(
    "Read the end of the framework's log (snapshot.smoke[].output in the report)",
    "gpudoctor check --format json -o report.json",
    kind=FixKind.CHECK,
)


_MAX_CAUSES = 2
"""Causes of a log line to name: a message with five helps nobody."""


class OutputSummary(msgspec.Struct, frozen=True):
    """What the output says about a failure."""

    hint: str
    """A sentence to append that names the likely causes; empty if the output points to none."""
    evidence: tuple[Evidence, ...]
    checks: tuple[Fix, ...]
    pointer: LogPointer | None = None


def log_pointer(framework: FrameworkView, output: str, error: str = "") -> LogPointer | None:
    """Return what the output and the error of a stage point to; None if nothing."""
    from gpudoctor.diagnose import smoke_log  # noqa: PLC0415 -- 20 ms for the signatures, which only a failure needs

    return smoke_log.pointer_in_output(framework, output, error)


def read_output(framework: FrameworkView, error: str = "") -> OutputSummary:
    """Return what the output and error of a smoke training say about its failure."""
    smoke = framework.smoke
    output, source = smoke.output if isinstance(smoke.output, str) else "", f"{smoke.framework}'s output"
    log = tuple(Evidence("log", line, source) for line in relevant_lines(output))
    found = log_pointer(framework, output, error)
    if found is None:
        return OutputSummary("", log, (READ_OUTPUT,))
    causes = [rule.name for rule in found.rules[:_MAX_CAUSES]]
    names = f"points to {' or '.join(causes)}: " if causes else "says that "
    evidence = (Evidence("relevant log line", found.sign.line, source), *log)
    return OutputSummary(f" Its log {names}{found.sign.signature.meaning}.", evidence, (*map(read_page, causes), READ_OUTPUT), found)
