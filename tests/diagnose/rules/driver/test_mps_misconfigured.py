from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Mps
from tests.builders import ABSENT, TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded

RULE = "mps-misconfigured"
LEFTOVERS = Mps("/tmp/nvidia-mps", "default", True)


def test_it_is_quiet_where_its_daemon_runs_or_nobody_asked_for_it() -> None:
    serving = Mps("/srv/mps", "CUDA_MPS_PIPE_DIRECTORY", True)
    assert kinds_of(RULE, machine(1, mps=serving)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, mps=ABSENT)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, mps=Mps("/tmp/nvidia-mps", "default", False))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, libcuda=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_a_variable_without_a_daemon_is_a_note() -> None:
    (finding,) = findings_of(RULE, machine(1, mps=Mps("/srv/mps", "CUDA_MPS_PIPE_DIRECTORY", False)))
    assert finding.severity is Severity.NOTE
    assert finding.fixes[1].command == "unset CUDA_MPS_PIPE_DIRECTORY"


def test_a_dead_daemons_leftovers_are_removed() -> None:
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(805, ""), mps=LEFTOVERS))
    assert finding.message == "CUDA cannot connect to MPS: cuInit returns 805 (CUDA_ERROR_805)."
    assert finding.fixes[1].command == "sudo rm -r /tmp/nvidia-mps"
