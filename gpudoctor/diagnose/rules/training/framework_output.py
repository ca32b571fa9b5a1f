"""What a framework logged during its smoke training, for findings."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.framework_log import telling_lines
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.signatures import recognise
from gpudoctor.snapshot import Smoke

READ_OUTPUT = Fix(
    "Read the end of the framework's log (snapshot.smoke[].output in the report)",
    "gpudoctor check --format json -o report.json",
    kind=FixKind.CHECK,
)


_LIKELIEST = 2
"""Causes of a log line to name: a message with five helps nobody."""


class Output(msgspec.Struct, frozen=True):
    """What the output says about a failure."""

    hint: str
    """A sentence to append that names the likely causes; empty if the output points to none."""
    evidence: tuple[Evidence, ...]
    checks: tuple[Fix, ...]


def read_output(smoke: Smoke, error: str = "") -> Output:
    """Return what the output and error of a smoke training say about its failure."""
    output, source = smoke.output if isinstance(smoke.output, str) else "", f"{smoke.framework}'s output"
    log = tuple(Evidence("log", line, source) for line in telling_lines(output))
    sign = next(iter(recognise(f"{output}\n{error}")), None)
    if sign is None:
        return Output("", log, (READ_OUTPUT,))
    causes = sign.signature.causes[:_LIKELIEST]
    hint = f" Its log points to {' or '.join(causes)}: {sign.signature.meaning}."
    return Output(hint, (Evidence("relevant log line", sign.line, source), *log), (*map(read_page, causes), READ_OUTPUT))
