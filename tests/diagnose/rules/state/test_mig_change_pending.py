from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "mig-change-pending"
PENDING = {"mig_enabled": False, "mig_pending": True}


def test_a_reset_switches_the_mode() -> None:
    (finding,) = findings_of(RULE, with_gpus(PENDING))
    assert finding.message.endswith("MIG is off but will be on after the next GPU reset or reboot.")
    assert finding.fixes[1].command.endswith("-mig 0")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"mig_enabled": True, "mig_pending": True})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"mig_enabled": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus({**PENDING, "virtualization": "vgpu"})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
