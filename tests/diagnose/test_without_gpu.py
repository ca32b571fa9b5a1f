"""The recorded machines, had they no NVIDIA GPU: what is wrong with the libraries for one is then no fault."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Level, Policy, Severity
from gpudoctor.snapshot import Cause, Missing
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, recorded
from tests.seams.every import every
from tests.shipped import shared_matrix

GONE = Missing(Cause.ABSENT, "there is none")
OF_GPUS = ("pci", "kernel_driver", "nvml", "libcuda", "libcuda_unmasked", "contexts", "smoke", "loads")
"""The sections in which GPUs are seen."""


def with_libraries(name: str) -> bool:
    return any(one.code.startswith("GD4") for one in diagnosis(name).findings)


def test_there_are_such_machines() -> None:
    assert sum(map(with_libraries, NAMES)) > 20


@every("name", NAMES)
def test_libraries_for_a_gpu_are_no_fault_where_there_is_none(name: str) -> None:
    if not with_libraries(name):
        return
    snapshot = msgspec.structs.replace(recorded(name), **dict.fromkeys(OF_GPUS, GONE))
    policy = Policy(level=Level.LOOK, allow_cpu=True)
    assert not MachineView(snapshot, shared_matrix(), policy).hardware
    found = diagnose(snapshot, shared_matrix(), policy).findings
    assert [one.code for one in found if one.code.startswith("GD4") and one.severity is not Severity.NOTE] == []
