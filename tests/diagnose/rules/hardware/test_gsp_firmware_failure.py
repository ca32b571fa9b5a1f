from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import KernelLog, Pci, XidEvent
from tests.builders import address, card
from tests.diagnose.rules.asking import findings_of, kinds_of, xids
from tests.diagnose.rules.hardware.samples import DENIED, second_lost

RULE = "gsp-firmware-failure"


def test_a_gsp_xid_is_an_error() -> None:
    (finding,) = findings_of(RULE, second_lost(kernel_log=xids((119, 1))))
    assert (finding.severity, finding.subject.key) == (Severity.ERROR, address(1))


def test_a_line_without_an_xid_is_enough() -> None:
    log = KernelLog("/dev/kmsg", lines=(f"NVRM: GPU {address(1)}: Cannot initialize GSP firmware RM",))
    (finding,) = findings_of(RULE, second_lost(kernel_log=log))
    assert (finding.severity, finding.subject.key) == (Severity.ERROR, address(1))


def test_other_xids_are_ignored() -> None:
    log = KernelLog("/dev/kmsg", (XidEvent(79, address(1), "GPU has fallen off the bus"), XidEvent(119, address(1), "x", switch=True)))
    assert findings_of(RULE, second_lost(kernel_log=log)) == []


def test_without_the_log_only_an_unresponsive_gpu_is_unknown() -> None:
    assert kinds_of(RULE, second_lost(kernel_log=DENIED)) == [OutcomeKind.PASSED, OutcomeKind.COULD_NOT_TELL]


def test_it_does_not_apply_to_a_gpu_for_a_virtual_machine() -> None:
    snapshot = second_lost(kernel_log=xids((119, 1)), pci=Pci((card(0), card(1, driver="vfio-pci"))))
    assert kinds_of(RULE, snapshot)[1] is OutcomeKind.NOT_APPLICABLE
