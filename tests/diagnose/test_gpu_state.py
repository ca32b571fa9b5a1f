"""Branches of the rules about a GPU's health and state that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import RULES, diagnose
from gpudoctor.findings import Diagnosis, Finding, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Cause,
    GpuProcess,
    KernelLog,
    Libcuda,
    MigInstance,
    Missing,
    Nvml,
    PciDevice,
    Snapshot,
    Stage,
    StageKind,
    StageState,
    Variables,
    XidEvent,
)
from tests.builders import TIMED_OUT, address, libcuda, machine, smoke

GIB = 1 << 30
UNSUPPORTED = Missing(Cause.UNSUPPORTED, "nvmlX answered 3 (Not Supported)")
SWITCH = PciDevice(address="0000:90:00.0", vendor="10de", device="1af1", class_code="068000")


def with_gpus(*changes: dict[str, Any], **sections: Any) -> Snapshot:
    """A machine whose GPUs have these changes in NVML's facts."""
    whole = machine(len(changes), **sections)
    assert isinstance(whole.nvml, Nvml)
    assert isinstance(whole.nvml.gpus, tuple)
    gpus = tuple(msgspec.structs.replace(gpu, **change) for gpu, change in zip(whole.nvml.gpus, changes, strict=True))
    return msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=gpus))


def found(name: str, snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None)).findings if one.name == name]


def outcomes(name: str, snapshot: Snapshot, matrix: Matrix) -> list[OutcomeKind]:
    diagnosis: Diagnosis = diagnose(snapshot, matrix, Policy(level=None))
    return [one.kind for one in diagnosis.outcomes if one.name == name]


def log(*events: tuple[int, int]) -> KernelLog:
    """Xids of GPUs by number."""
    return KernelLog("/dev/kmsg", tuple(XidEvent(code, address(gpu), f"pid=77, what {code} says") for code, gpu in events))


ABOUT_NVML = [rule.name for rule in RULES if rule.code in {
    "GD222", "GD705", "GD706", "GD708", "GD709", "GD803", "GD808", "GD810",
}]  # fmt: skip


@pytest.mark.parametrize("name", ABOUT_NVML)
def test_what_nobody_asked_is_not_a_pass(name: str, matrix: Matrix) -> None:
    assert outcomes(name, machine(1), matrix) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(
    "name", [*ABOUT_NVML, "inforom-corrupt", "gpu-requires-reset", "power-cable-missing", "mig-one-instance-per-process"]
)
def test_a_driver_that_does_not_answer_is_not_a_pass(name: str, matrix: Matrix) -> None:
    assert outcomes(name, machine(1, nvml=TIMED_OUT), matrix) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    "name", ["ecc-hardware-error", "row-remap-pending", "pages-retirement-pending", "hw-slowdown", "nvlink-inactive", "mig-no-instances"]
)
def test_what_a_gpu_does_not_offer_does_not_apply(name: str, matrix: Matrix) -> None:
    lacking = dict.fromkeys(
        ("ecc_uncorrected", "remapped_rows", "retired_pages", "nvlinks", "mig_enabled", "clocks_event_reasons"), UNSUPPORTED
    )
    assert outcomes(name, with_gpus(lacking), matrix) in ([OutcomeKind.NOT_APPLICABLE], [OutcomeKind.COULD_NOT_TELL])
    if name != "hw-slowdown":
        assert outcomes(name, with_gpus(lacking), matrix) == [OutcomeKind.NOT_APPLICABLE]


MEMORY = {"memory_total": 8 * GIB, "memory_used": 7 * GIB, "memory_free": GIB, "compute_processes": (), "graphics_processes": ()}


def test_a_desktop_that_draws_is_no_other_program(matrix: Matrix) -> None:
    drawn = {**MEMORY, "graphics_processes": (GpuProcess(900, memory=6 * GIB + GIB // 2),)}
    assert outcomes("gpu-memory-held-by-other-process", with_gpus(drawn), matrix) == [OutcomeKind.NOT_APPLICABLE]
    assert outcomes("gpu-memory-held-by-other-process", with_gpus(MEMORY), matrix) == [OutcomeKind.FOUND]


def test_a_card_too_small_for_a_training_is_not_held(matrix: Matrix) -> None:
    small = {**MEMORY, "memory_total": 2 * GIB, "memory_used": 100 << 20, "memory_free": GIB}
    assert found("gpu-memory-held-by-other-process", with_gpus(small), matrix) == []


def test_memory_that_is_held_explains_a_training_that_failed(matrix: Matrix) -> None:
    failed = smoke(1, trainings=(), stages=(Stage(StageKind.TRAINING, StageState.FAILED, device="GPU:0", error="out of memory"),))
    (finding,) = found("gpu-memory-held-by-other-process", with_gpus(MEMORY, smoke=(failed,)), matrix)
    assert finding.severity is Severity.ERROR
    proven = found("gpu-memory-held-by-other-process", with_gpus(MEMORY, smoke=(smoke(),)), matrix)
    assert [one.severity for one in proven] == [Severity.NOTE]


def mig(count: int) -> dict[str, Any]:
    return {"mig_enabled": True, "mig_instances": tuple(MigInstance(place, uuid=f"MIG-{place}") for place in range(count))}


@pytest.mark.parametrize(("named", "severity"), [("MIG-0", Severity.NOTE), ("MIG-0,MIG-1", Severity.WARNING)])
def test_a_program_that_asks_for_several_instances(named: str, severity: Severity, matrix: Matrix) -> None:
    snapshot = with_gpus(mig(2), variables=Variables({"CUDA_VISIBLE_DEVICES": named}), libcuda_unmasked=libcuda(1))
    assert [one.severity for one in found("mig-one-instance-per-process", snapshot, matrix)] == [severity]


def test_instances_that_may_not_be_seen(matrix: Matrix) -> None:
    denied = {"mig_enabled": True, "mig_instances": Missing(Cause.DENIED, "no permission")}
    assert outcomes("mig-no-instances", with_gpus(denied), matrix) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize("mode", ["prohibited", "exclusive-process"])
def test_a_mode_of_a_gpu_that_is_hidden_anyway(mode: str, matrix: Matrix) -> None:
    taken = {"compute_mode": mode, "compute_processes": (GpuProcess(9),)}
    hiding = {"variables": Variables({"CUDA_VISIBLE_DEVICES": ""}), "libcuda": libcuda(0), "libcuda_unmasked": libcuda(1)}
    name = "compute-prohibited" if mode == "prohibited" else "exclusive-compute-mode"
    assert outcomes(name, with_gpus(taken, **hiding), matrix) == [OutcomeKind.NOT_APPLICABLE]
    assert [one.severity for one in found(name, with_gpus(taken), matrix)] == [Severity.ERROR]


def test_persistence_of_which_one_gpu_says_nothing(matrix: Matrix) -> None:
    half = with_gpus({"persistence": False}, {"persistence": TIMED_OUT})
    assert [one.message.partition(":")[0] for one in found("persistence-mode-off", half, matrix)] == ["Persistence mode is off on GPU 0"]
    assert outcomes("persistence-mode-off", with_gpus({"persistence": TIMED_OUT}), matrix) == [OutcomeKind.COULD_NOT_TELL]


def test_confidential_computing_that_this_driver_does_not_know(matrix: Matrix) -> None:
    nvml = machine().nvml
    assert isinstance(nvml, Nvml)
    unknown = machine(nvml=msgspec.structs.replace(nvml, confidential=UNSUPPORTED))
    assert outcomes("confidential-computing-not-ready", unknown, matrix) == [OutcomeKind.NOT_APPLICABLE]


def test_a_display_card_beside_one_that_computes(matrix: Matrix) -> None:
    unlike = ({"name": "NVIDIA GeForce GT 1030"}, {"name": "NVIDIA GeForce RTX 4090"})
    assert [one.severity for one in found("mixed-gpu-models", with_gpus(*unlike), matrix)] == [Severity.NOTE]
    assert isinstance(machine(2).libcuda, Libcuda)
    assert found("mixed-gpu-models", with_gpus(*unlike, libcuda=libcuda(1)), matrix) == []
