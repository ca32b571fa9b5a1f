from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from tests.builders import TIMED_OUT, machine, smoke
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.hardware.samples import alarmed

RULE, CODE = "gpu-requires-reset", 16


def test_an_alarm_alone_is_enough() -> None:
    assert kinds_of(RULE, alarmed(CODE, "GPU requires reset", recovery_action=UNSUPPORTED)) == [OutcomeKind.FOUND]


@pytest.mark.parametrize(("action", "severity", "command"), [
    ("reset", Severity.ERROR, "sudo nvidia-smi --gpu-reset"), ("system-reboot", Severity.ERROR, "sudo reboot"),
    ("drain-and-reset", Severity.WARNING, "sudo nvidia-smi --gpu-reset"),
])  # fmt: skip
def test_a_recovery_action_says_what_to_do(action: str, severity: Severity, command: str) -> None:
    (finding,) = findings_of(RULE, with_gpus({"alarms": (), "recovery_action": action}))
    assert finding.severity is severity
    assert finding.fixes[0].command.startswith(command)


def test_a_kernel_that_ran_makes_it_a_warning() -> None:
    wanted = {"alarms": (), "recovery_action": "reset"}
    assert [finding.severity for finding in findings_of(RULE, with_gpus(wanted, smoke=(smoke(),)))] == [Severity.WARNING]


def test_no_recovery_action_passes() -> None:
    assert kinds_of(RULE, with_gpus({"alarms": (), "recovery_action": "none"})) == [OutcomeKind.PASSED]


def test_an_action_newer_than_gpudoctor_is_a_warning() -> None:
    (finding,) = findings_of(RULE, with_gpus({"alarms": (), "recovery_action": "code 42"}))
    assert finding.severity is Severity.WARNING
    assert "42" in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"alarms": (), "recovery_action": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
