from __future__ import annotations

import pytest

from gpudoctor.derive.xids import NAMED_XIDS
from gpudoctor.findings import Action, Confidence, OutcomeKind, Severity
from gpudoctor.matrix.tables import XIDS
from tests.builders import address, machine, smoke
from tests.diagnose.rules.asking import MATRIX, findings_of, kinds_of, xids
from tests.diagnose.rules.hardware.samples import DENIED

RULE = "gpu-errors-logged"
BY_GPU, BY_PROGRAM, HARMLESS = 62, 31, 43


def test_gpu_faults_are_listed_before_program_faults() -> None:
    (finding,) = findings_of(RULE, machine(2, kernel_log=xids((BY_PROGRAM, 1), (BY_GPU, 1), (BY_PROGRAM, 1))))
    assert (finding.subject.key, finding.severity, finding.confidence) == (address(1), Severity.WARNING, Confidence.LIKELY)
    assert finding.message.index(f"Xid {BY_GPU}") < finding.message.index(f"Xid {BY_PROGRAM} × 2")  # noqa: RUF001 -- a cross counts


def test_a_program_fault_is_a_note() -> None:
    (finding,) = findings_of(RULE, machine(1, kernel_log=xids((BY_PROGRAM, 0))))
    assert (finding.severity, finding.confidence) == (Severity.NOTE, Confidence.POSSIBLE)
    assert finding.fixes[-1].command.startswith("compute-sanitizer")


def test_a_kernel_that_ran_makes_it_a_note() -> None:
    (finding,) = findings_of(RULE, machine(1, kernel_log=xids((BY_GPU, 0)), smoke=(smoke(),)))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize("code", [48, 54, 63, 64, 74, 79, 94, 95, 119, 120, 149])
def test_xids_with_a_rule_of_their_own_are_left_to_it(code: int) -> None:
    assert kinds_of(RULE, machine(1, kernel_log=xids((code, 0)))) == [OutcomeKind.PASSED]


def test_it_cannot_tell_without_the_log() -> None:
    assert kinds_of(RULE, machine(1, kernel_log=DENIED)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("code", "fix", "action"),
    [
        (62, "Stop all processes on the GPU and reset it (NVIDIA's action for Xid 62)", Action.RESET_GPU),
        (78, "Update the driver and the GPU's firmware (NVIDIA's action for Xid 78).", Action.UPDATE_DRIVER),
        (BY_PROGRAM, "Find the bug in the program", None),
        (999, "Find the bug in the program", None),
    ],
)
def test_the_fix_is_what_nvidia_says(code: int, fix: str, action: Action | None) -> None:
    (finding,) = findings_of(RULE, machine(1, kernel_log=xids((code, 0))))
    assert (finding.fixes[-1].title, finding.fixes[-1].action) == (fix, action)
    assert ("not in NVIDIA's Xid catalogue" in finding.message) is (code == 999)


def test_an_action_without_a_command_is_the_administrators() -> None:
    own = [row for row in MATRIX.rows(XIDS) if row.code not in NAMED_XIDS and row.action in {"CONTACT_SUPPORT", "WORKFLOW_NVLINK5_ERR"}]
    assert own
    for row in own:
        (finding,) = findings_of(RULE, machine(1, kernel_log=xids((row.code, 0))))
        assert finding.fixes[-1].action is Action.CONTACT_ADMINISTRATOR
