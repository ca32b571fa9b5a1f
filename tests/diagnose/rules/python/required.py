"""Machines on which something is required, for tests of single rules."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Level, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Cause, CudaDevice, Libcuda, Missing, Nvml, NvmlGpu, Snapshot
from tests.builders import SUCCESS, address, machine

GIB = 1 << 30
LOST = Missing(Cause.LOST, "GPU is lost")


def about(snapshot: Snapshot, matrix: Matrix, *wanted: str, level: Level | None = Level.LOOK, **wishes: Any) -> Diagnosis:
    return diagnose(snapshot, matrix, Policy(level=level, require=wanted, **wishes))


def names(diagnosis: Diagnosis) -> list[str]:
    return [finding.name for finding in diagnosis.findings if finding.severity is Severity.ERROR]


def cards(*each: dict[str, Any], cuda: dict[str, Any] | None = None) -> Snapshot:
    """A machine whose NVML says `each` of its GPUs, and whose CUDA says `cuda` of all."""
    whole = machine(len(each))
    gpus = tuple(NvmlGpu(number, **{"address": address(number), "minor": number, **facts}) for number, facts in enumerate(each))
    devices = tuple(CudaDevice(number, address=address(number), **(cuda or {})) for number in range(len(each)))
    return msgspec.structs.replace(
        whole, nvml=Nvml(init=SUCCESS, driver_version="550.163.01", gpus=gpus), libcuda=Libcuda(init=SUCCESS, devices=devices)
    )


HEALTHY = cards({"memory_total": 80 * GIB, "compute_capability": "8.0"}, {"memory_total": 40 * GIB, "compute_capability": "9.0"})
