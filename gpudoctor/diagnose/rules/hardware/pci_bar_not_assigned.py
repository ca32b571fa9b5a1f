"""GD144: pci-bar-not-assigned."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import MIB
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, Missing, NvmlGpu, PciDevice

_INVALID = r"BAR(\d) is \d+M @ 0x0 \(PCI:{place}\)"
"""As the kernel driver's nv-pci.c words it."""


_NO_ROOM = r"pci {place}: BAR (\d)[: ].{0,200}(?:no space|failed to assign)"
"""As drivers/pci/setup-res.c of the kernel words it; BARs from 7 on are those of virtual functions, which a GPU works without."""


def _logged(gpu: Gpu, log: KernelLog | Missing, pattern: str) -> dict[int, str]:
    """The telling line for each BAR of this GPU."""
    if not isinstance(log, KernelLog):
        return {}
    place = re.escape(gpu.key.rpartition(".")[0]) + r"(?:\.\d)?"
    found = (re.search(pattern.replace("{place}", place), line) for line in log.lines)
    return {int(match.group(1)): match.string for match in found if match and int(match.group(1)) < 6}


def _unassigned(gpu: Gpu, log: KernelLog | Missing) -> dict[int, Evidence]:
    """The BARs without a place, by number: by the kernel's list of resources; of one that is not in it, by the log."""
    where = log.where if isinstance(log, KernelLog) else ""
    lines = {**_logged(gpu, log, _NO_ROOM), **_logged(gpu, log, _INVALID)}
    bars = gpu.pci.bars if isinstance(gpu.pci, PciDevice) else gpu.pci
    listed = {} if isinstance(bars, Missing) else {bar.number: bar for bar in bars}
    resource = f"/sys/bus/pci/devices/{gpu.key}/resource"
    unset = {
        number: Evidence(f"BAR{number}", f"{bar.size // MIB} MiB, not assigned", resource)
        for number, bar in listed.items()
        if not bar.assigned
    }
    return unset | {number: Evidence(f"BAR{number}", line[:160], where) for number, line in lines.items() if number not in listed}


@rule(
    "GD144",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_DRIVER,
    since="0.1",
    about=SubjectKind.GPU,
    explains=(
        Explains(("gpu-count-mismatch",), "", Join.GPU),
        Explains(
            (
                "no-driver",
                "device-nodes-missing",
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def pci_bar_not_assigned(gpu: Gpu, site: Site, log: KernelLog | Missing) -> Iterator[Problem]:
    """The firmware or the kernel found no place on the bus for the GPU's memory.

    ## Why it matters
    A GPU is reached through ranges of the PCI bus, its BARs. One of them is as large as the GPU's memory on newer cards and must lie above
    4 GiB. Where there is no room for it the NVIDIA driver refuses the card ("This PCI I/O region assigned to your NVIDIA device is invalid").

    ## What to do
    In the firmware's setup switch on "Above 4G Decoding", and the largest MMIO window if it offers one. If that does not help, let the
    kernel assign the ranges again with `pci=realloc`. In a virtual machine give the guest a larger 64-bit MMIO window.

    ## References
    - https://docs.kernel.org/admin-guide/kernel-parameters.html
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform do not show on a PCI bus")
    if isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str):
        return
    missing = _unassigned(gpu, log)
    if not missing:
        need(gpu.pci.bars if isinstance(gpu.pci, PciDevice) else gpu.pci, Rung.SLOT)
        return
    which = ", ".join(f"BAR{number}" for number in sorted(missing))
    yield Problem(
        message=f"{gpu.label}: {which} {'has' if len(missing) == 1 else 'have'} no place on the PCI bus, so the driver cannot use the GPU.",
        evidence=tuple(missing[number] for number in sorted(missing)),
        fixes=(
            Fix(
                'Switch on "Above 4G Decoding" in the firmware\'s setup, and the largest MMIO window.',
                needs=(REBOOT,),
            ),
            Fix(
                "Add pci=realloc to the kernel's command line (GRUB_CMDLINE_LINUX) and reboot.",
                needs=(ROOT, REBOOT),
                kind=FixKind.ELSE,
            ),
        ),
    )
