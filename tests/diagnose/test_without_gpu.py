"""The recorded machines, had they no NVIDIA GPU: of the libraries for one, only those that a framework's own files link are then missed."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Level, Policy, Severity
from gpudoctor.frameworks import spec_of
from gpudoctor.snapshot import Asking, Cause, Missing
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, recorded
from tests.seams.every import every
from tests.shipped import shared_matrix

GONE = Missing(Cause.ABSENT, "there is none")
OF_GPUS = ("pci", "kernel_driver", "nvml", "libcuda", "libcuda_unmasked", "contexts", "smoke", "loads")
"""The sections in which GPUs are seen."""


def with_libraries(name: str) -> bool:
    return any(finding.code.startswith("GD4") for finding in diagnosis(name).findings)


def links_what_is_lost(machine: MachineView) -> bool:
    libraries = machine.observed.libraries
    frameworks = () if isinstance(libraries, Missing) else libraries.frameworks
    uses = (
        use
        for framework in frameworks
        if spec_of(framework.framework).plugin is None and isinstance(framework.uses, tuple)
        for use in framework.uses
    )
    lost = (use for use in uses if use.asking is Asking.LINKED and use.vital and isinstance(use.file, Missing))
    return any(use.component != "cuda" for use in lost)


def test_there_are_such_machines() -> None:
    assert sum(map(with_libraries, NAMES)) > 20


@every("name", NAMES)
def test_only_what_the_import_needs_is_missed_where_there_is_no_gpu(name: str) -> None:
    if not with_libraries(name):
        return
    snapshot = msgspec.structs.replace(recorded(name), **dict.fromkeys(OF_GPUS, GONE))
    policy = Policy(level=Level.LOOK, allow_cpu=True)
    machine = MachineView(snapshot, shared_matrix(), policy)
    assert not machine.hardware
    found = diagnose(snapshot, shared_matrix(), policy).findings
    missed = [finding.code for finding in found if finding.code.startswith("GD4") and finding.severity is not Severity.NOTE]
    assert bool(missed) == links_what_is_lost(machine)
    assert {"GD401", "GD402", "GD403", "GD404", "GD419"}.issuperset(missed)
