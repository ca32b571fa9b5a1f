"""The same state of a GPU gives the same verdict, be it on one of eight GPUs or on all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, Policy, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Cause,
    DeviceNodes,
    GpuProcess,
    Libcuda,
    Missing,
    Nvml,
    Pci,
    Refusals,
    Snapshot,
    Status,
)
from tests.machines.store import recorded

replace = msgspec.structs.replace
GIB = 1 << 30
Chosen = frozenset[int]
Change = Callable[[Snapshot, Chosen], Snapshot]
ONE, ALL = frozenset({3}), frozenset(range(8))


def in_nvml(**facts: Any) -> Change:
    """NVML says this of the chosen GPUs."""

    def change(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
        assert isinstance(snapshot.nvml, Nvml)
        assert isinstance(snapshot.nvml.gpus, tuple)
        gpus = tuple(replace(gpu, **facts) if gpu.index in chosen else gpu for gpu in snapshot.nvml.gpus)
        return replace(snapshot, nvml=replace(snapshot.nvml, gpus=gpus))

    return change


def not_in_nvml(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    left = (gpu for gpu in snapshot.nvml.gpus if gpu.index not in chosen)
    return replace(snapshot, nvml=replace(snapshot.nvml, gpus=tuple(replace(gpu, index=index) for index, gpu in enumerate(left))))


def not_in_cuda(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
    """CUDA lists none of the chosen; where that leaves none, cuInit says so."""
    assert isinstance(snapshot.libcuda, Libcuda)
    assert isinstance(snapshot.libcuda.devices, tuple)
    left = tuple(device for number, device in enumerate(snapshot.libcuda.devices) if number not in chosen)
    devices = tuple(replace(device, ordinal=ordinal) for ordinal, device in enumerate(left))
    none = {"init": Status(100, "CUDA_ERROR_NO_DEVICE", "no device"), "devices": Missing(Cause.FAILED, "cuInit answered 100")}
    return replace(snapshot, libcuda=replace(snapshot.libcuda, **({"devices": devices} if devices else none)))


def without_file(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
    assert isinstance(snapshot.device_nodes, DeviceNodes)
    gone = {f"/dev/nvidia{number}" for number in chosen}
    nodes = tuple(node for node in snapshot.device_nodes.nodes if node.path not in gone)
    return replace(snapshot, device_nodes=DeviceNodes(nodes))


def of_ones(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
    assert isinstance(snapshot.pci, Pci)
    devices = (replace(device, answers=number not in chosen) for number, device in enumerate(snapshot.pci.devices))
    return replace(snapshot, pci=Pci(tuple(devices)))


def together(*changes: Change) -> Change:
    def change(snapshot: Snapshot, chosen: Chosen) -> Snapshot:
        for one in changes:
            snapshot = one(snapshot, chosen)
        return snapshot

    return change


FULL = {"memory_free": GIB // 4, "memory_used": 79 * GIB, "compute_processes": (GpuProcess(9, memory=79 * GIB),)}
RESET = (Status(16, "NVML_ERROR_RESET_REQUIRED", "nvmlDeviceGetName: GPU requires reset"),)
STATES: dict[str, tuple[Change, str]] = {
    "lost while it is asked": (in_nvml(name=Missing(Cause.LOST, "nvmlDeviceGetName answered 15 (GPU is lost)")), "gpu-fell-off-bus"),
    "lost before": (
        together(in_nvml(address=Missing(Cause.LOST, "nvmlDeviceGetHandleByIndex answered 15 (GPU is lost)")), not_in_cuda),
        "gpu-fell-off-bus",
    ),
    "registers of ones": (of_ones, "gpu-fell-off-bus"),
    "answers with errors": (in_nvml(refusals=Refusals(asked=60, code=999, times=44)), "gpu-not-responding"),
    "in need of a reset": (together(in_nvml(alarms=RESET), not_in_cuda), "gpu-requires-reset"),
    "listed by neither": (together(not_in_nvml, not_in_cuda), "gpu-count-mismatch"),
    "listed by NVML alone": (not_in_cuda, "gpu-missing-from-cuda"),
    "without its device file": (together(not_in_nvml, not_in_cuda, without_file), "device-nodes-missing"),
    "MIG without instances": (together(in_nvml(mig_enabled=True, mig_instances=()), not_in_cuda), "mig-no-instances"),
    "prohibited": (in_nvml(compute_mode="prohibited"), "compute-prohibited"),
    "taken exclusively": (in_nvml(compute_mode="exclusive-process", compute_processes=(GpuProcess(9),)), "exclusive-compute-mode"),
    "without free memory": (in_nvml(**FULL), "gpu-memory-held-by-other-process"),
}


@pytest.fixture(scope="module")
def healthy() -> Snapshot:
    snapshot = recorded("healthy-eight")
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    known = tuple(replace(gpu, refusals=Refusals(asked=60, code=0, times=0)) for gpu in snapshot.nvml.gpus)
    return replace(snapshot, nvml=replace(snapshot.nvml, gpus=known))


def roots(diagnosis: Diagnosis) -> set[str]:
    return {finding.name for finding in diagnosis.findings if finding.severity is Severity.ERROR and not finding.because_of}


def test_the_machine_is_ready_without_any_of_these_states(healthy: Snapshot, matrix: Matrix) -> None:
    assert diagnose(healthy, matrix, Policy(level=Level.LOOK)).verdict is Verdict.READY


@pytest.mark.parametrize("level", [Level.LOOK, Level.TRAIN])
@pytest.mark.parametrize("state", STATES)
def test_one_of_eight_and_all_eight_give_the_same_verdict(state: str, level: Level, healthy: Snapshot, matrix: Matrix) -> None:
    change, name = STATES[state]
    diagnosis, every = (diagnose(change(healthy, chosen), matrix, Policy(level=level)) for chosen in (ONE, ALL))
    assert diagnosis.verdict is every.verdict is Verdict.BROKEN
    assert roots(diagnosis) == {name}
    assert roots(every) == ({name} if state != "listed by NVML alone" else {"cuda-init-fails"})
    assert all(finding.fixes for finding in (*diagnosis.findings, *every.findings))


@pytest.mark.parametrize("state", ["prohibited", "taken exclusively", "without free memory"])
def test_a_gpu_that_is_hidden_is_not_asked_for(state: str, healthy: Snapshot, matrix: Matrix) -> None:
    change, _ = STATES[state]
    masked = replace(not_in_cuda(change(healthy, ONE), ONE), libcuda_unmasked=healthy.libcuda)
    assert diagnose(masked, matrix, Policy(level=Level.LOOK)).verdict is Verdict.READY
