from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Cause, KernelLog, Missing, Nvml, Pci, PciBar, Snapshot
from tests.builders import SUCCESS, card, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of
from tests.diagnose.rules.hardware.samples import GIB

RULE = "pci-bar-not-assigned"


def refused(*lines: str, bars: tuple[PciBar, ...] | Missing = (), **changes: Any) -> Snapshot:
    """A GPU that NVML does not list, with these BARs and this kernel log."""
    sections = {
        "nvml": Nvml(init=SUCCESS, gpus=()),
        "pci": Pci((card(0, bars=bars, driver=UNSUPPORTED),)),
        "kernel_log": KernelLog("/dev/kmsg", lines=lines),
    }
    return machine(1, **sections, **changes)


def test_a_bar_that_the_kernel_lists_without_an_address() -> None:
    (finding,) = findings_of(RULE, refused(bars=(PciBar(1, 32 * GIB, assigned=False),)))
    assert "BAR1 has no address" in finding.message
    assert finding.evidence[0].value == "32768 MiB, not assigned"


@pytest.mark.parametrize("line", [
    "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
    "pci 0000:01:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space",
    "pci 0000:01:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]",
    "pci 0000:01:00.0: BAR 1: failed to assign [mem size 0x800000000 64bit pref]",
])  # fmt: skip
@pytest.mark.parametrize("bars", [(), Missing(Cause.DENIED, "may not be read")])
def test_a_bar_that_only_the_log_names(line: str, bars: tuple[PciBar, ...] | Missing) -> None:
    (finding,) = findings_of(RULE, refused(line, bars=bars))
    assert "BAR1" in finding.message


@pytest.mark.parametrize("line", [
    "pci 0000:01:00.0: BAR 7: no space for [mem size 0x02000000 64bit pref]",
    "pci 0000:01:00.0: VF BAR 2 [mem size 0x800000000 64bit pref]: can't assign; no space",
    "pci 0000:02:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]",
    "pci 0000:01:00.0: BAR 1 [mem 0x2000000000-0x27ffffffff 64bit pref]: assigned",
    "pcieport 0000:00:01.0: bridge window [mem size 0xc00000000 64bit pref]: can't assign; no space",
])  # fmt: skip
def test_lines_about_something_else(line: str) -> None:
    assert findings_of(RULE, refused(line)) == []


def test_a_bar_that_got_its_address_later() -> None:
    tried = "pci 0000:01:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]"
    assert findings_of(RULE, refused(tried, bars=(PciBar(1, 32 * GIB, assigned=True),))) == []


def test_a_gpu_that_nvml_opened_passes() -> None:
    opened = machine(1, pci=Pci((card(0, bars=(PciBar(5, 128, assigned=False),)),)))
    assert kinds_of(RULE, opened) == [OutcomeKind.PASSED]


def test_bars_that_were_not_seen_are_no_pass() -> None:
    assert kinds_of(RULE, refused(bars=Missing(Cause.DENIED, "may not be read"))) == [OutcomeKind.COULD_NOT_TELL]
