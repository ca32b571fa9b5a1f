from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Fabric
from tests.builders import TIMED_OUT
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.multi_gpu.fabrics import REGISTERED

RULE = "fabric-unhealthy"
NO_PARTITION, BAD_FIRMWARE, RECOVERING, UNHEALTHY = 4 << 8, 6 << 8, 1 << 2, 1 << 4


@pytest.mark.parametrize(
    ("health", "says", "remedy"),
    [
        (NO_PARTITION, "no partition", "Ask the fabric's operator"),
        (BAD_FIRMWARE, "incompatible GPU firmware", "Update the GPU baseboard's firmware"),
        (RECOVERING, "route recovery in progress", "Wait a minute"),
        (UNHEALTHY, "unhealthy route", "Stop all processes and restart the fabric manager"),
    ],
)
def test_each_flaw_has_its_remedy(health: int, says: str, remedy: str) -> None:
    (finding,) = findings_of(RULE, with_gpus({"fabric": Fabric("completed", 0, 0, health=health)}))
    assert says in finding.message
    assert finding.severity is Severity.WARNING
    assert finding.fixes[1].title.startswith(remedy)


def test_a_failed_registration_is_an_error() -> None:
    (finding,) = findings_of(RULE, with_gpus({"fabric": Fabric("completed", 999, 0)}))
    assert finding.severity is Severity.ERROR
    assert "registration failed with NVML error 999" in finding.message


def test_other_outcomes() -> None:
    fabrics = [REGISTERED, Fabric("not-supported", 0, 0), UNSUPPORTED, TIMED_OUT]
    assert kinds_of(RULE, with_gpus(*({"fabric": fabric} for fabric in fabrics))) == [
        OutcomeKind.PASSED,
        OutcomeKind.NOT_APPLICABLE,
        OutcomeKind.NOT_APPLICABLE,
        OutcomeKind.COULD_NOT_TELL,
    ]
