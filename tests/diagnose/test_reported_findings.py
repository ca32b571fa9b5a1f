"""What a gpudoctor report in a pasted text says stands: it saw the machine."""

from __future__ import annotations

import pytest

from gpudoctor.findings import Confidence, Severity
from gpudoctor.snapshot import Reported, TextLog
from tests.builders import bare
from tests.diagnose.rules.asking import findings_of

RULE, CODE = "persistence-mode-off", "GD712"


def told(*severities: str) -> TextLog:
    """A text with a report that names the rule once for each severity."""
    return TextLog(
        lines=(),
        reported=tuple(
            Reported(CODE, severity, "likely", f"said as {severity}", f"line {place}") for place, severity in enumerate(severities)
        ),
    )


@pytest.mark.parametrize(
    ("severities", "severity"),
    [
        (("note",), Severity.NOTE),
        (("warning", "note"), Severity.WARNING),
        (("note", "warning"), Severity.WARNING),
        (("warning", "error", "note"), Severity.ERROR),
    ],
)
def test_the_most_severe_of_what_a_report_says_stands(severities: tuple[str, ...], severity: Severity) -> None:
    (finding,) = findings_of(RULE, bare(text_log=told(*severities)))
    assert (finding.severity, finding.confidence, finding.message) == (severity, Confidence.LIKELY, f"said as {severity.value}")
    assert [(row.what, row.value, row.where) for row in finding.evidence] == [
        ("gpudoctor report", CODE, f"line {severities.index(severity.value)}")
    ]
    assert finding.fixes[0].command == f"gpudoctor explain {RULE}"


def test_without_a_report_nothing_is_said() -> None:
    assert findings_of(RULE, bare(text_log=told())) == []
    assert findings_of(RULE, bare()) == []
