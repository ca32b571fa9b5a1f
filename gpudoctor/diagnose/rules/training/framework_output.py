"""What a framework wrote during its smoke training, as findings show it."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.derive.framework_log import telling_lines
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.signatures import recognise
from gpudoctor.snapshot import Smoke

READ_OUTPUT = Fix(
    "Read the framework's own log: the report holds its end as snapshot.smoke[].output",
    "gpudoctor check --format json -o report.json",
    kind=FixKind.CHECK,
)


class Output(NamedTuple):
    """What the output says about a failure."""

    hint: str
    """The causes that its words point to, as a sentence to append; empty where they point to none."""
    evidence: tuple[Evidence, ...]
    checks: tuple[Fix, ...]


def read_output(smoke: Smoke, error: str = "") -> Output:
    """What the output and an error of a smoke training say about its failure."""
    output, source = smoke.output if isinstance(smoke.output, str) else "", f"{smoke.framework}'s output"
    log = tuple(Evidence("log", line, source) for line in telling_lines(output))
    sign = next(iter(recognise(f"{output}\n{error}")), None)
    if sign is None:
        return Output("", log, (READ_OUTPUT,))
    causes = sign.signature.causes
    hint = f" The output points to {' or '.join(causes)}: {sign.signature.meaning}."
    return Output(hint, (Evidence(f"a sign of {causes[0]}", sign.line, source), *log), (*map(read_page, causes), READ_OUTPUT))
