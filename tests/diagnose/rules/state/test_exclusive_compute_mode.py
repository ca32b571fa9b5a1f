from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import GpuProcess, Variables
from tests.builders import TIMED_OUT, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "exclusive-compute-mode"
TAKEN = {"compute_mode": "exclusive-process", "compute_processes": (GpuProcess(9),)}


def test_another_process_has_the_gpu() -> None:
    (finding,) = findings_of(RULE, with_gpus(TAKEN))
    assert finding.severity is Severity.ERROR
    assert finding.message.endswith("(one process at a time), in use by pid 9.")
    assert [fix.command for fix in finding.fixes][1] == "sudo kill 9"


def test_a_free_gpu_or_one_that_mps_shares_is_a_note() -> None:
    shared = {**TAKEN, "compute_processes": (GpuProcess(9, name="nvidia-cuda-mps-server"),)}
    free = {**TAKEN, "compute_processes": ()}
    assert [finding.severity for finding in findings_of(RULE, with_gpus(shared, free))] == [Severity.NOTE] * 2


def test_a_mode_of_a_gpu_that_is_hidden_anyway() -> None:
    hiding = {"variables": Variables({"CUDA_VISIBLE_DEVICES": ""}), "libcuda": libcuda(0), "libcuda_unmasked": libcuda(1)}
    assert kinds_of(RULE, with_gpus(TAKEN, **hiding)) == [OutcomeKind.NOT_APPLICABLE]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"compute_mode": "default"})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
