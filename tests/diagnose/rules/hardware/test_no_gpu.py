from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Nvml, Pci, PciDevice, Status
from tests.builders import ABSENT, TIMED_OUT, bare, machine, torch
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.hardware.samples import RADEON

RULE = "no-gpu"


def test_it_passes_with_a_gpu() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]


def test_devices_of_other_vendors_are_named() -> None:
    intel = PciDevice(address="0000:03:00.0", vendor="8086", device="56a0", class_code="030000", driver="xe")
    (finding,) = findings_of(RULE, bare(pci=Pci((intel,))))
    assert finding.severity is Severity.ERROR
    assert "Intel 8086:56a0" in finding.message
    assert finding.evidence[1].value == "xe"


def test_it_is_a_note_if_the_cpu_is_allowed() -> None:
    (finding,) = findings_of(RULE, bare(), Policy(level=None, allow_cpu=True))
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(("node", "offered"), [(False, True), (True, False)])
def test_the_cpu_is_no_alternative_for_a_node_on_which_nothing_trains(node: bool, offered: bool) -> None:
    (finding,) = findings_of(RULE, bare(), Policy(level=None, node=node))
    assert finding.fixes
    assert any("--allow-cpu" in fix.command for fix in finding.fixes) is offered


def test_an_amd_gpu_with_a_rocm_build_is_not_reported_as_no_gpu() -> None:
    snapshot = bare(pci=Pci((RADEON,)), frameworks=(torch(cuda_build=False, rocm_build=True),))
    assert kinds_of(RULE, snapshot) == [OutcomeKind.COULD_NOT_TELL]


def test_a_loaded_kernel_driver_contradicts_an_empty_bus() -> None:
    mismatch = Nvml(init=Status(18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch"), gpus=ABSENT)
    assert kinds_of(RULE, bare(nvml=mismatch)) == [OutcomeKind.COULD_NOT_TELL]


def test_a_bus_that_could_not_be_read_is_no_finding() -> None:
    assert kinds_of(RULE, machine(1, pci=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
