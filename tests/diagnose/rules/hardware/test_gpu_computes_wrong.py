from __future__ import annotations

from gpudoctor.findings import FixKind, OutcomeKind
from tests.builders import TIMED_OUT, address, in_docker, machine, touched
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "gpu-computes-wrong"
WRONG = {"kernel_right": False, "wrong": 3, "first_wrong": "0x1 instead of 0x3"}


def test_the_clocks_of_an_only_gpu_are_reset() -> None:
    (finding,) = findings_of(RULE, machine(1, contexts=touched(1, **WRONG)))
    assert finding.message.endswith("computed 3 of 8192 integers wrong in gpudoctor's test kernel: 0x1 instead of 0x3.")
    assert [fix.kind for fix in finding.fixes] == [FixKind.CHECK, FixKind.FIX, FixKind.CHECK, FixKind.ELSE]
    assert finding.fixes[1].command.startswith(f"sudo nvidia-smi -i {address(0)} -rgc")


def test_a_container_leaves_the_clocks_to_its_host() -> None:
    (finding,) = findings_of(RULE, machine(1, contexts=touched(1, **WRONG), container=in_docker()))
    assert not [fix for fix in finding.fixes if "-rgc" in fix.command]


def test_training_moves_to_the_other_gpus() -> None:
    (finding,) = findings_of(RULE, machine(2, contexts=touched(2, **WRONG)))
    assert finding.subject.key == address(1)
    assert finding.fixes[1].command == "export CUDA_VISIBLE_DEVICES=0"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, contexts=touched(1))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, contexts=touched(1, skipped="in use"))) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, contexts=touched(1, kernel_right=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
