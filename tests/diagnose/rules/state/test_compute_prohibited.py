from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Variables
from tests.builders import TIMED_OUT, address, in_docker, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "compute-prohibited"
PROHIBITED = {"compute_mode": "prohibited"}


def test_no_program_can_use_the_gpu() -> None:
    (finding,) = findings_of(RULE, with_gpus(PROHIBITED))
    assert finding.severity is Severity.ERROR
    assert finding.fixes[0].command.endswith("-c DEFAULT")


def test_a_mode_of_a_gpu_that_is_hidden_anyway() -> None:
    hiding = {"variables": Variables({"CUDA_VISIBLE_DEVICES": ""}), "libcuda": libcuda(0), "libcuda_unmasked": libcuda(1)}
    assert kinds_of(RULE, with_gpus(PROHIBITED, **hiding)) == [OutcomeKind.NOT_APPLICABLE]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"compute_mode": "default"})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_a_container_cannot_set_the_mode() -> None:
    (finding,) = findings_of(RULE, with_gpus(PROHIBITED, container=in_docker()))
    assert finding.fixes[0].title == "On the host, set the GPU's compute mode to DEFAULT."
    assert finding.fixes[0].command == ""
    (finding,) = findings_of(RULE, with_gpus(PROHIBITED))
    assert finding.fixes[0].command == f"sudo nvidia-smi -i {address(0)} -c DEFAULT"
