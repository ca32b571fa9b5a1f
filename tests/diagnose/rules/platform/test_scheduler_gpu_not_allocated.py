from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Confidence, Level, OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Allocation, Cause, DeviceNodes, Missing, Node, Nvml
from tests.builders import ABSENT, SUCCESS, TIMED_OUT, bare, in_docker, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import REFUSED, SLURM, UNKNOWN, change

RULE = "scheduler-gpu-not-allocated"


def test_without_a_loaded_driver_it_is_only_possible() -> None:
    unloaded = machine(kernel_driver=change(machine().kernel_driver, version=ABSENT, gpus=ABSENT), nvml=ABSENT, libcuda=REFUSED)
    (finding,) = findings_of(RULE, change(unloaded, allocation=SLURM))
    assert finding.confidence is Confidence.POSSIBLE
    (driver,) = findings_of("no-driver", change(unloaded, allocation=SLURM))
    assert not driver.because_of


def test_a_job_that_can_use_gpus_passes() -> None:
    assert findings_of(RULE, machine(allocation=SLURM)) == []
    assert findings_of(RULE, machine(allocation=SLURM, libcuda=libcuda(0, 999, "CUDA_ERROR_UNKNOWN"))) == []


def test_an_allocation_that_is_not_stated_is_not_judged() -> None:
    unstated = change(SLURM, gpus=Missing(Cause.NOT_STATED, "salloc"))
    hidden = machine(allocation=unstated, nvml=change(UNKNOWN, init=SUCCESS, gpus=()), libcuda=REFUSED)
    assert kinds_of(RULE, hidden) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(container=in_docker())) == [OutcomeKind.NOT_ASKED]


def test_a_job_for_the_cpu_on_a_node_without_gpu_is_excused() -> None:
    (finding,) = findings_of(RULE, bare(allocation=SLURM), Policy(level=Level.LOOK, allow_cpu=True))
    assert finding.severity is Severity.NOTE


def test_gpus_of_other_jobs_are_not_counted() -> None:
    share = change(SLURM, gpus=("1",))
    listed = machine(2).nvml
    assert isinstance(listed, Nvml)
    assert isinstance(listed.gpus, tuple)
    mine = change(listed, gpus=listed.gpus[1:])
    snapshot = machine(2, allocation=share, nvml=mine, libcuda=change(libcuda(2), devices=libcuda(2).devices[1:]))  # type: ignore[index]
    assert findings_of("gpu-count-mismatch", snapshot) == []
    assert findings_of("gpu-count-mismatch", change(snapshot, allocation=change(share, constrained=False)))
    assert findings_of("gpu-count-mismatch", change(snapshot, allocation=change(share, gpus=("0", "1"))))


@pytest.mark.parametrize(
    ("scheduler", "gpus", "files", "kind"),
    [
        ("Kubernetes", TIMED_OUT, TIMED_OUT, OutcomeKind.COULD_NOT_TELL),
        ("Kubernetes", TIMED_OUT, ABSENT, OutcomeKind.FOUND),
        ("Kubernetes", TIMED_OUT, DeviceNodes((Node("/dev/null"),)), OutcomeKind.FOUND),
        ("Kubernetes", TIMED_OUT, DeviceNodes((Node("/dev/nvidia0"),)), OutcomeKind.COULD_NOT_TELL),
        ("Slurm", TIMED_OUT, ABSENT, OutcomeKind.COULD_NOT_TELL),
        ("Slurm", ("0",), ABSENT, OutcomeKind.PASSED),
        ("PBS", (), ABSENT, OutcomeKind.FOUND),
    ],
)
def test_device_files_tell_what_a_pod_was_given_and_nothing_of_other_jobs(scheduler: str, gpus: Any, files: Any, kind: OutcomeKind) -> None:
    allocation = Allocation(scheduler, "environment", gpus, "the variable")
    snapshot = machine(1, allocation=allocation, libcuda=REFUSED, nvml=ABSENT, device_nodes=files)
    assert kinds_of(RULE, snapshot) == [kind]
    unit = "pod" if scheduler == "Kubernetes" else "job"
    found = findings_of(RULE, snapshot)
    assert [f"No GPU is allocated to this {scheduler} {unit} (" in finding.message for finding in found] == [True] * (
        kind is OutcomeKind.FOUND
    )
