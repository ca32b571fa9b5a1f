import re

from gpudoctor.derive import NO_PCI_BUS, GpuView, not_applicable, require_known
from gpudoctor.diagnose.advice.hardware import MIB
from gpudoctor.diagnose.advice.kernel_log import line_excerpt
from gpudoctor.diagnose.rule import CUDA_FAILS, Join, advises, explains, rule
from gpudoctor.findings import REBOOT, ROOT, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.snapshot import KernelLog, Missing, PciDevice

_NO_SPACE = r"pci {place}: BAR (\d)[: ].{0,200}(?:no space|failed to assign)"
"""From drivers/pci/setup-res.c of the kernel. BARs from 7 on belong to virtual functions; a GPU works without them."""
_INVALID_BAR = r"BAR(\d) is \d+M @ 0x0 \(PCI:{place}\)"
"""From nv-pci.c of the kernel driver."""
_OWN_BARS = 6


@rule("GD144", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER)
@advises(
    Fix('Enable "Above 4G Decoding" in the BIOS, with the largest MMIO window that it offers.', needs=(REBOOT,)),
    Fix(
        "Add pci=realloc to GRUB_CMDLINE_LINUX in /etc/default/grub, regenerate grub.cfg and reboot.",
        needs=(ROOT, REBOOT),
        kind=FixKind.ELSE,
    ),
)
@explains(("gpu-count-mismatch",), "The driver refuses a GPU whose BAR has no address.", Join.GPU)
@explains(("no-driver", "device-nodes-missing"), "A driver that refuses the only GPU unloads again.")
@explains(CUDA_FAILS, "CUDA cannot use a GPU that the driver refuses.")
def pci_bar_not_assigned(gpu: GpuView) -> Problems:
    """PCI BAR of the GPU has no address."""
    if not gpu.machine.site.has_pci:
        not_applicable(NO_PCI_BUS)
    if gpu.is_opened:
        return
    missing = _unassigned_bars(gpu)
    if not missing:
        return
    bars = joined_words(f"BAR{number}" for number in sorted(missing))
    yield Problem(
        message=f"{gpu.label}: {bars} {singular_or_plural(len(missing), 'has', 'have')} no address on the PCI bus, so the driver refuses the GPU.",
        evidence=tuple(missing[number] for number in sorted(missing)),
    )


def _unassigned_bars(gpu: GpuView) -> dict[int, Evidence]:
    """Return the BARs without an address, by number; the kernel's resource list overrides the log."""
    logged = {**_logged_bars(gpu, _NO_SPACE), **_logged_bars(gpu, _INVALID_BAR)}
    device = gpu.observed.pci
    seen = device.bars if isinstance(device, PciDevice) else device
    bars = {bar.number: bar for bar in (() if logged and isinstance(seen, Missing) else require_known(seen, Rung.SLOT))}
    resource = f"/sys/bus/pci/devices/{gpu.key}/resource"
    unset = {
        number: Evidence(f"BAR{number}", f"{bar.size // MIB} MiB, not assigned", resource)
        for number, bar in bars.items()
        if not bar.assigned
    }
    return unset | {number: evidence for number, evidence in logged.items() if number not in bars}


def _logged_bars(gpu: GpuView, pattern: str) -> dict[int, Evidence]:
    """Return the kernel log's line about each BAR of this GPU."""
    log = gpu.machine.observed.kernel_log
    if not isinstance(log, KernelLog):
        return {}
    place = re.escape(gpu.key.rpartition(".")[0]) + r"(?:\.\d)?"
    found = (re.search(pattern.replace("{place}", place), line) for line in log.lines)
    numbers = {int(match.group(1)): match.string for match in found if match}
    return {number: Evidence(f"BAR{number}", line_excerpt(line), log.where) for number, line in numbers.items() if number < _OWN_BARS}
