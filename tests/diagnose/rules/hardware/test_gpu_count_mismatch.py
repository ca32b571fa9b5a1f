from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Cause, KernelDriver, Missing, Pci, PciDevice, ProcGpu
from tests.builders import TIMED_OUT, address, card, in_docker, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.hardware.samples import refusing, second_lost

RULE = "gpu-count-mismatch"


def test_it_passes_where_nvml_opens_all_gpus() -> None:
    assert kinds_of(RULE, machine(2)) == [OutcomeKind.PASSED] * 2


def test_a_gpu_that_nvml_does_not_list_is_an_error() -> None:
    (finding,) = findings_of(RULE, second_lost())
    assert (finding.subject.key, finding.severity) == (address(1), Severity.ERROR)
    assert finding.message.endswith("NVML does not list GPU 0000:02:00.0; it opens 1 other GPU.")


def test_a_gpu_that_nvml_cannot_open_is_an_error_with_the_reason() -> None:
    gone = Missing(Cause.LOST, "GPU is lost")
    (finding,) = findings_of(RULE, with_gpus({}, {"address": gone}, libcuda=libcuda(1)))
    assert "cannot open GPU 1 (0000:02:00.0): GPU is lost" in finding.message


def test_a_gpu_that_cuda_lists_is_a_warning() -> None:
    (finding,) = findings_of(RULE, second_lost(libcuda=libcuda(2)))
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith(" CUDA lists this GPU.")


def test_in_a_container_the_container_is_restarted() -> None:
    (finding,) = findings_of(RULE, second_lost(container=in_docker()))
    assert finding.fixes[0].title.startswith("Restart the container")


def test_an_address_that_could_not_be_read_is_no_finding() -> None:
    assert kinds_of(RULE, with_gpus({}, {"address": TIMED_OUT}, libcuda=libcuda(1)))[1] is OutcomeKind.COULD_NOT_TELL


def test_it_cannot_tell_where_nvml_did_not_start() -> None:
    assert kinds_of(RULE, refusing(9, "NVML_ERROR_DRIVER_NOT_LOADED")) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize("driver", ["vfio-pci", "nouveau"])
def test_it_does_not_apply_to_a_gpu_that_another_driver_is_bound_to(driver: str) -> None:
    snapshot = second_lost(pci=Pci((card(0), card(1, driver=driver))))
    assert kinds_of(RULE, snapshot) == [OutcomeKind.PASSED, OutcomeKind.NOT_APPLICABLE]


def test_it_does_not_apply_to_a_gpu_that_the_driver_is_configured_to_ignore() -> None:
    lost = second_lost()
    assert isinstance(lost.kernel_driver, KernelDriver)
    gpus = (ProcGpu(address(0), minor=0), ProcGpu(address(1), minor=1, excluded=True))
    driver = msgspec.structs.replace(lost.kernel_driver, gpus=gpus)
    assert kinds_of(RULE, msgspec.structs.replace(lost, kernel_driver=driver))[1] is OutcomeKind.NOT_APPLICABLE


def test_the_bound_driver_is_evidence_where_the_bus_is_known() -> None:
    (finding,) = findings_of(RULE, second_lost(pci=Pci((card(0), PciDevice(address(1), "10de", "20b2", "030200", driver="other")))))
    assert [row.value for row in finding.evidence if row.what == "bound kernel driver"] == ["other"]
