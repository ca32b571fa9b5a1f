from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import KernelLog, KernelModules
from tests.builders import TIMED_OUT, card, in_docker, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.modules import unloaded

RULE = "nova-loaded"


def test_the_driver_cannot_take_a_gpu_that_nova_holds() -> None:
    log = KernelLog("/dev/kmsg", lines=("NVRM: GPU 0000:01:00.0 is already bound to NovaCore.",))
    (finding,) = findings_of(RULE, unloaded(KernelModules(), card(0, driver="NovaCore"), kernel_log=log))
    assert "bound to nova, not to the NVIDIA driver." in finding.message
    assert finding.evidence[-1].what == "kernel log"
    assert "blacklist nova_core" in finding.fixes[0].command


def test_in_a_container_it_is_the_hosts() -> None:
    whole = unloaded(KernelModules(), card(0, driver="nova_core"), container=in_docker())
    assert kinds_of(RULE, whole) == [OutcomeKind.FOUND]
    assert "on the host" in findings_of(RULE, whole)[0].fixes[0].title


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1, pci=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
