from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Nvml, Status
from tests.builders import ABSENT, TIMED_OUT, in_docker, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.libcudas import loaded

RULE = "driver-library-mismatch"
UPGRADED = Nvml(
    init=Status(18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "Driver/library version mismatch"), nvml_version="12.570.86.15", gpus=ABSENT
)
REFUSED = libcuda(0, 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH")


def test_an_upgrade_without_a_reboot() -> None:
    (finding,) = findings_of(RULE, machine(1, nvml=UPGRADED, libcuda=REFUSED))
    assert "Kernel module 550.163.01 and driver libraries 570.86.15 do not match, so NVML does not start" in finding.message
    assert finding.fixes[0].command == "sudo reboot"
    (contained,) = findings_of(RULE, machine(1, nvml=UPGRADED, libcuda=REFUSED, container=in_docker()))
    assert contained.fixes[0].title.startswith("Restart the container")


def test_two_installations() -> None:
    (finding,) = findings_of(RULE, machine(1, libcuda=loaded(803, "/usr/lib/libcuda.so.535.54.03")))
    assert finding.message.startswith("Two driver installations are mixed: ")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, nvml=ABSENT, libcuda=ABSENT)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT, libcuda=ABSENT)) == [OutcomeKind.COULD_NOT_TELL]
