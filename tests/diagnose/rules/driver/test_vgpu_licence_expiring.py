from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Licence
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "vgpu-licence-expiring"


def leased(seconds: object) -> dict[str, object]:
    licence = Licence("NVIDIA RTX vWS", enabled=True, licensed=True, expires="2026-01-02T04:00:00Z", seconds_left=seconds)  # type: ignore[arg-type]
    return {"virtualization": "vgpu", "licences": (licence,)}


@pytest.mark.parametrize(
    ("seconds", "severity", "words"),
    [(-5, Severity.WARNING, "expired at"), (600, Severity.NOTE, "expires in 10 min"), (10, Severity.NOTE, "expires in 1 min")],
)
def test_an_expired_or_expiring_licence(seconds: int, severity: Severity, words: str) -> None:
    (finding,) = findings_of(RULE, with_gpus(leased(seconds)))
    assert finding.severity is severity
    assert words in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus(leased(86_400))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus(leased(UNSUPPORTED))) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus({"virtualization": "none"})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
