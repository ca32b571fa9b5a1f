"""GD1: the GPU and its slot."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.derive.lost import lost_under_load, off_the_bus, unresponsive
from gpudoctor.diagnose.fixes import power_cycle, read_log, reboot
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, milder, reset
from gpudoctor.diagnose.kernel_facts import is_free_driver
from gpudoctor.diagnose.rule import CouldNotTell, need, not_applicable, rule
from gpudoctor.diagnose.rules.vendors import amd_gpus, built_for_amd, called
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, KernelLog, Missing, Nvml, NvmlGpu, Pci, PciDevice, ProcGpu, Snapshot, Status

_LIB_RM_VERSION_MISMATCH = 18
_FELL_OFF = 79
"""Xid: the GPU has fallen off the bus."""


@rule("GD101", severity=Severity.ERROR, breaks=Rung.SLOT, since="0.1")
def no_gpu(pci: Pci, site: Site, policy: Policy, nvml: Nvml | Missing, snapshot: Snapshot) -> Iterator[Problem]:
    """No NVIDIA GPU is on the PCI bus.

    ## Why it matters
    The kernel enumerates every device on the PCI bus before any driver is loaded. A GPU that is not there cannot be reached by any
    driver, library or framework: no software change on this machine can help.

    ## What to do
    - In a cloud: choose an instance type with a GPU, or attach one.
    - In a virtual machine: pass the GPU through from the host.
    - On a workstation: power off, reseat the card, connect its power cables, and look for it in the firmware's setup.
    - If the CPU is to do: `gpudoctor check --allow-cpu`.

    GPUs and accelerators of other vendors are named, and not examined: gpudoctor tests what runs on CUDA.

    ## References
    - https://docs.kernel.org/PCI/sysfs-pci.html
    """
    if not site.has_pci:
        not_applicable("GPUs of this platform do not show on a PCI bus")
    if any(is_gpu(device) for device in pci.devices):
        return
    if isinstance(nvml, Nvml) and isinstance(nvml.init, Status) and nvml.init.code == _LIB_RM_VERSION_MISMATCH:
        reason = "the PCI bus shows no NVIDIA device, yet an NVIDIA kernel driver answered, which loads only where there is one"
        raise CouldNotTell(Missing(Cause.FAILED, reason), Rung.NVML)
    rocm = built_for_amd(snapshot) if amd_gpus(pci) else ""
    if rocm:
        raise CouldNotTell(
            Missing(Cause.UNSUPPORTED, f"the GPU here is AMD's and {rocm} a build for ROCm, which gpudoctor does not examine"), None
        )
    others = [called(device) for device in pci.devices]
    yield Problem(
        message="No device on the PCI bus is an NVIDIA GPU"
        + (f"; the display devices and accelerators there are {', '.join(others)}." if others else "."),
        severity=Severity.NOTE if policy.allow_cpu else None,
        evidence=(
            Evidence("NVIDIA GPUs on the PCI bus", "0", "/sys/bus/pci/devices (vendor 10de, class 03)"),
            *(Evidence(called(device), _holder(device), f"/sys/bus/pci/devices/{device.address}") for device in pci.devices),
        ),
        fixes=(
            Fix("Use an instance type with a GPU; in a virtual machine pass one through; else reseat the card and its power cables."),
            Fix("Accept the CPU, and train on it", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
        ),
    )


@rule("GD102", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_count_mismatch(gpu: Gpu, nvml: Nvml, site: Site, ladder: Ladder) -> Iterator[Problem]:
    """NVML does not open every GPU of this machine.

    ## Why it matters
    The PCI bus, CUDA, or the driver itself shows a GPU that NVML does not open: it fell off the bus, its driver failed to start it, or
    another driver holds it. Programs that expect all GPUs will fail or use fewer than they think. Its siblings are not affected.

    A GPU that CUDA lists and NVML does not can be trained on, so that is a warning: nvidia-smi and every monitor overlook it.

    In a container the PCI bus is the host's; there only GPUs with a device node of their own are counted.

    ## What to do
    Read the kernel's log about this address. A GPU that fell off the bus (Xid 79) comes back with a cold boot, or does not: then
    suspect power, riser, slot or card. Do not change the driver while identical siblings work.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    if isinstance(nvml.init, Status) and nvml.init.code:
        raise CouldNotTell(Missing(Cause.FAILED, f"NVML did not start: {nvml.init.name}"), Rung.NVML)
    listed = need(nvml.gpus, Rung.NVML)
    if gpu.set_aside:
        not_applicable("bound to vfio-pci: set aside for a guest")
    if isinstance(gpu.pci, PciDevice) and is_free_driver(gpu.pci):
        not_applicable(f"{gpu.pci.driver} holds it")
    if isinstance(gpu.proc, ProcGpu) and gpu.proc.excluded is True:
        not_applicable("the driver was told to leave it alone (NVreg_ExcludedGpus)")
    opened = sum(isinstance(one.address, str) for one in listed)
    if isinstance(gpu.nvml, NvmlGpu):
        if isinstance(gpu.nvml.address, str):
            return
        if gpu.nvml.address.cause in {Cause.TIMED_OUT, Cause.NOT_STATED}:
            need(gpu.nvml.address, Rung.NVML)
        seen = f"NVML counts it and cannot open it: {gpu.nvml.address.reason}"
    else:
        seen = "NVML does not list it"
    usable = ladder.proven(gpu.key, Rung.LIBCUDA)
    yield Problem(
        message=f"{gpu.label}: {seen}; {opened} other {'GPU is' if opened == 1 else 'GPUs are'} open."
        + (" CUDA lists it." if usable else ""),
        severity=Severity.WARNING if usable else None,
        evidence=(
            Evidence("NVML", seen, "libnvidia-ml.so.1"),
            Evidence("kernel driver bound", _bound(gpu), f"/sys/bus/pci/devices/{gpu.key}/driver"),
        ),
        fixes=(Fix("Restart the container; if the GPU stays away, look for it on the host."),)
        if site.container
        else (_kernel_says(gpu), _SAME_DRIVER, reboot())
        if usable
        else _back(gpu),
    )


@rule("GD103", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_fell_off_bus(gpu: Gpu, log: KernelLog | Missing, ladder: Ladder) -> Iterator[Problem]:
    """GPU no longer answers on the PCI bus.

    ## Why it matters
    The driver had this GPU and lost it: reads from it return nothing but ones (Xid 79, "GPU has fallen off the bus"). It is gone for
    every program until the machine is power-cycled, and what ran on it is lost.

    A GPU can vanish while it is examined. One NVML call that answers "GPU is lost" (15) is enough, whatever the calls before it said;
    so is a PCI configuration space of ones, or the link width 63 that the kernel makes of it. CUDA then fails on the other
    GPUs too, mostly with error 999.

    ## What to do
    Power the machine off and on; a warm reboot is often not enough. If it happens again the cause is power, riser, slot, heat or
    the card: move the card to another slot, then replace it.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    told = logged(gpu, log, _FELL_OFF)
    seen = off_the_bus(gpu)
    vanished = isinstance(gpu.nvml, Missing) and gpu.nvml.cause is Cause.ABSENT and bool(told)
    if not seen and not vanished:
        if isinstance(gpu.nvml, Missing):
            not_applicable("NVML does not list it")
        need(gpu.nvml.address, Rung.NVML)
        return
    several = len(seen) + len(told) > 1 or any(one.what.startswith("PCI") for one in seen)
    why = "; ".join(f"{one.what}: {one.value}" for one in seen) or "NVML no longer lists it, and the kernel logged Xid 79"
    yield Problem(
        message=f"{gpu.label} was lost while the driver had it ({why}).",
        severity=None if lost_under_load(gpu) else milder(ladder, gpu),
        confidence=Confidence.CERTAIN if several or vanished else Confidence.LIKELY,
        evidence=(*seen, *as_evidence(told, log)),
        fixes=_back(gpu),
    )


@rule("GD130", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_not_responding(gpu: Gpu, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """NVML gets errors instead of answers from this GPU.

    ## Why it matters
    NVML opens the GPU, and most calls about it fail with the same error, or NVML reports trouble with its interrupts (11). What the other
    calls answered cannot be trusted then. A GPU in this state mostly refuses work, and can stop the programs on it.

    ## What to do
    Read the kernel's log for the Xid that came before. Reset the GPU, or reboot. Trouble with interrupts often comes from the
    machine's firmware: update the BIOS, and try the driver with `NVreg_EnableMSI=1`.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    if off_the_bus(gpu):
        not_applicable("it fell off the bus")
    seen = unresponsive(gpu)
    if not seen:
        need(known(gpu).refusals, Rung.NVML)
        return
    yield Problem(
        message=f"{gpu.label}: {'; '.join(f'{one.what}: {one.value}' for one in seen)}.",
        severity=milder(ladder, gpu),
        confidence=Confidence.LIKELY,
        evidence=seen,
        fixes=(_kernel_says(gpu), reset(gpu, site)),
    )


def _kernel_says(gpu: Gpu) -> Fix:
    return read_log(f"NVRM|Xid|{gpu.key.removeprefix('0000:')}", "Read what the kernel says of this GPU")


def _back(gpu: Gpu) -> tuple[Fix, ...]:
    """How a GPU that stopped answering mostly comes back, after what the kernel said of it is kept."""
    return _kernel_says(gpu), power_cycle(), _SUSPECTS


_SAME_DRIVER = Fix(
    "Find out whether NVML and CUDA are of one driver release", "ldconfig -p | grep -E 'libcuda.so|libnvidia-ml.so'", kind=FixKind.CHECK
)
_SUSPECTS = Fix("Move the card to another slot, replace riser and power cables; then replace the card.", kind=FixKind.ELSE)


def _bound(gpu: Gpu) -> str:
    return _holder(gpu.pci) if isinstance(gpu.pci, PciDevice) else f"not known ({gpu.pci.reason})"


def _holder(device: PciDevice) -> str:
    return device.driver if isinstance(device.driver, str) else f"none ({device.driver.reason})"


RULES = (no_gpu, gpu_count_mismatch, gpu_fell_off_bus, gpu_not_responding)
