from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "ecc-disabled"
OFF = {"ecc_enabled": False, "ecc_pending": False}


def test_ecc_that_is_off_can_be_switched_on() -> None:
    (finding,) = findings_of(RULE, with_gpus(OFF))
    assert finding.fixes[0].command.endswith("--ecc-config=1")
    (inside,) = findings_of(RULE, with_gpus(OFF, container=in_docker()))
    assert inside.fixes[0].command == ""


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"ecc_enabled": True, "ecc_pending": True})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"ecc_enabled": False, "ecc_pending": True})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({"ecc_enabled": UNSUPPORTED, "ecc_pending": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
