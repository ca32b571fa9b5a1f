"""Branches of the rules about a GPU's health and state that no recorded machine reaches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Diagnosis, Finding, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    Cause,
    KernelLog,
    Libcuda,
    Missing,
    Nvml,
    PciDevice,
    Snapshot,
    XidEvent,
)
from tests.builders import TIMED_OUT, address, libcuda, machine

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
    return [finding for finding in diagnose(snapshot, matrix, Policy(level=None)).findings if finding.name == name]


def outcomes(name: str, snapshot: Snapshot, matrix: Matrix) -> list[OutcomeKind]:
    diagnosis: Diagnosis = diagnose(snapshot, matrix, Policy(level=None))
    return [outcome.kind for outcome in diagnosis.outcomes if outcome.name == name]


def log(*events: tuple[int, int]) -> KernelLog:
    """Xids of GPUs by number."""
    return KernelLog("/dev/kmsg", tuple(XidEvent(code, address(gpu), f"pid=77, what {code} says") for code, gpu in events))


ABOUT_NVML = [rule.name for rule in RULES if rule.code in {
    "GD803", "GD808", "GD810",
}]  # fmt: skip


@pytest.mark.parametrize("name", ABOUT_NVML)
def test_what_nobody_asked_is_not_a_pass(name: str, matrix: Matrix) -> None:
    assert outcomes(name, machine(1), matrix) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize("name", [*ABOUT_NVML, "inforom-corrupt", "gpu-requires-reset", "power-cable-missing"])
def test_a_driver_that_does_not_answer_is_not_a_pass(name: str, matrix: Matrix) -> None:
    assert outcomes(name, machine(1, nvml=TIMED_OUT), matrix) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize("name", ["ecc-hardware-error", "row-remap-pending", "pages-retirement-pending", "hw-slowdown", "nvlink-inactive"])
def test_what_a_gpu_does_not_offer_does_not_apply(name: str, matrix: Matrix) -> None:
    lacking = dict.fromkeys(("ecc_uncorrected", "remapped_rows", "retired_pages", "nvlinks", "clocks_event_reasons"), UNSUPPORTED)
    assert outcomes(name, with_gpus(lacking), matrix) in ([OutcomeKind.NOT_APPLICABLE], [OutcomeKind.COULD_NOT_TELL])
    if name != "hw-slowdown":
        assert outcomes(name, with_gpus(lacking), matrix) == [OutcomeKind.NOT_APPLICABLE]


def test_a_display_card_beside_one_that_computes(matrix: Matrix) -> None:
    unlike = ({"name": "NVIDIA GeForce GT 1030"}, {"name": "NVIDIA GeForce RTX 4090"})
    assert [finding.severity for finding in found("mixed-gpu-models", with_gpus(*unlike), matrix)] == [Severity.NOTE]
    assert isinstance(machine(2).libcuda, Libcuda)
    assert found("mixed-gpu-models", with_gpus(*unlike, libcuda=libcuda(1)), matrix) == []
