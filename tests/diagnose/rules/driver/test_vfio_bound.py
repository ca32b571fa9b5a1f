from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Pci
from tests.builders import TIMED_OUT, bare, card, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "vfio-bound"


def test_all_gpus_belong_to_virtual_machines() -> None:
    (finding,) = findings_of(RULE, bare(pci=Pci((card(0, driver="vfio-pci"), card(1, driver="vfio-pci")))))
    assert finding.message == "All 2 GPUs are bound to vfio-pci for VM passthrough."
    assert "sudo tee /sys/bus/pci/drivers/vfio-pci/unbind" in finding.fixes[0].command


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(2, pci=Pci((card(0), card(1, driver="vfio-pci"))))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, bare()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, pci=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
