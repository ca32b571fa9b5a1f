from __future__ import annotations

import msgspec

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Blocked, Cause, KernelModules, Missing
from tests.builders import ABSENT, bare, card, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.modules import signed, unloaded

RULE = "no-driver"


def test_libraries_without_a_loaded_module() -> None:
    (finding,) = findings_of(RULE, unloaded(signed(signature=True)))
    assert finding.message == "NVIDIA driver libraries are installed, but the kernel module is not loaded (1 GPU on the PCI bus)."
    assert finding.fixes[0].command == "sudo modprobe nvidia"


def test_a_blocked_module_is_allowed_first() -> None:
    blocked = msgspec.structs.replace(signed(signature=True), blocked=(Blocked("nvidia", "/etc/modprobe.d/x.conf", "blacklist"),))
    (finding,) = findings_of(RULE, unloaded(blocked))
    assert finding.fixes[0].command.endswith("/etc/modprobe.d/x.conf")


def test_without_libraries_the_driver_is_installed() -> None:
    (finding,) = findings_of(RULE, unloaded(KernelModules(), nvml=ABSENT, libcuda=ABSENT))
    assert finding.message == "The NVIDIA kernel driver is not loaded (1 GPU on the PCI bus)."
    assert finding.fixes[0].command == "sudo ubuntu-drivers install"


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, unloaded(KernelModules(), card(0, driver="vfio-pci"))) == [OutcomeKind.NOT_APPLICABLE]
    unseen = Missing(Cause.DENIED, "/proc is hidden")
    assert kinds_of(RULE, unloaded(KernelModules(), kernel_driver=unseen)) == [OutcomeKind.COULD_NOT_TELL]
