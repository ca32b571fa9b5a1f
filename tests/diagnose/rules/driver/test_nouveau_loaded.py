from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Blocked, KernelModules, Pci
from tests.builders import ABSENT, TIMED_OUT, card, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.modules import unloaded

RULE = "nouveau-loaded"
HELD = card(0, driver="nouveau")


def test_it_is_blacklisted_where_the_driver_is_installed() -> None:
    (finding,) = findings_of(RULE, unloaded(KernelModules(), HELD))
    assert finding.message == f"GPU {HELD.address} is bound to nouveau, not to the NVIDIA driver."
    assert [fix.title for fix in finding.fixes] == ["Blacklist nouveau and rebuild the initial RAM disk, then reboot"]


def test_a_blacklist_takes_effect_in_the_initial_ram_disk() -> None:
    modules = KernelModules(blocked=(Blocked("nouveau", "/etc/modprobe.d/x.conf", "blacklist"),))
    (finding,) = findings_of(RULE, unloaded(modules, HELD))
    assert finding.fixes[0].command == "sudo update-initramfs -u && sudo reboot"


def test_without_a_driver_one_reboot_does_for_both_steps() -> None:
    (finding,) = findings_of(RULE, unloaded(KernelModules(), HELD, nvml=ABSENT, libcuda=ABSENT))
    assert finding.message.endswith(", and no NVIDIA driver is installed.")
    keep_off, install = finding.fixes
    assert keep_off.command.endswith("blacklist-nouveau.conf && sudo update-initramfs -u")
    assert install.title.startswith("Install the NVIDIA driver")
    assert [fix.needs[-1] for fix in finding.fixes] == ["root", "reboot"]


def test_beside_a_gpu_of_the_nvidia_driver_it_is_a_warning() -> None:
    (finding,) = findings_of(RULE, machine(2, pci=Pci((card(0), card(1, driver="nouveau")))))
    assert finding.severity is Severity.WARNING


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, pci=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
