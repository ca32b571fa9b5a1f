"""GD1: the GPU and its slot."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.gpu_facts import as_evidence, logged
from gpudoctor.diagnose.kernel_facts import NOUVEAU
from gpudoctor.diagnose.rule import CouldNotTell, need, not_applicable, rule
from gpudoctor.diagnose.rules.vendors import amd_gpus, built_for_amd, called
from gpudoctor.findings import Confidence, Evidence, Fix, Policy, Problem, Rung, Severity, SubjectKind
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
            Fix(
                "In a cloud choose an instance type with a GPU; in a virtual machine pass one through; else reseat the card and its power."
            ),
            Fix("Train on the CPU instead", "gpudoctor check --allow-cpu"),
        ),
    )


@rule("GD102", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU)
def gpu_count_mismatch(gpu: Gpu, nvml: Nvml, site: Site) -> Iterator[Problem]:
    """A GPU of this machine cannot be opened through NVML.

    ## Why it matters
    The PCI bus, or the driver itself, shows a GPU that NVML does not open: it fell off the bus, its driver failed to start it, or
    another driver holds it. Programs that expect all GPUs will fail or use fewer than they think. Its siblings are not affected.

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
    if isinstance(gpu.pci, PciDevice) and gpu.pci.driver in NOUVEAU:
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
    yield Problem(
        message=f"{gpu.label}: {seen}; {opened} other {'GPU is' if opened == 1 else 'GPUs are'} open.",
        evidence=(
            Evidence("NVML", seen, "libnvidia-ml.so.1"),
            Evidence("kernel driver bound", _bound(gpu), f"/sys/bus/pci/devices/{gpu.key}/driver"),
        ),
        fixes=(
            Fix("Read what the kernel says of this GPU", f"sudo dmesg | grep -E 'NVRM|Xid|{gpu.key.removeprefix('0000:')}'", ("root",)),
            Fix(
                "Power the machine off and on (a warm reboot may not be enough); if it stays away, check power, riser and slot, or replace it.",
                needs=("root", "reboot"),
                verify="nvidia-smi -L",
            ),
        )
        if not site.container
        else (Fix("Restart the container; if the GPU stays away, look for it on the host.", verify="nvidia-smi -L"),),
    )


@rule("GD103", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU)
def gpu_fell_off_bus(gpu: Gpu, log: KernelLog | Missing) -> Iterator[Problem]:
    """A GPU no longer answers on the PCI bus.

    ## Why it matters
    The driver had this GPU and lost it: reads from it return nothing but ones (Xid 79, "GPU has fallen off the bus"). It is gone for
    every program until the machine is power-cycled, and what ran on it is lost.

    ## What to do
    Power the machine off and on; a warm reboot is often not enough. If it happens again the cause is power, riser, slot, heat or
    the card: move the card to another slot, then replace it.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    told = logged(gpu, log, _FELL_OFF)
    if not isinstance(gpu.nvml, NvmlGpu) and (not told or gpu.nvml.cause is not Cause.ABSENT):
        not_applicable("NVML does not list it")
    address = gpu.nvml.address if isinstance(gpu.nvml, NvmlGpu) else Missing(Cause.LOST, "NVML does not list it any more")
    if isinstance(address, str):
        return
    if address.cause is not Cause.LOST:
        need(address, Rung.NVML)
        return
    link = gpu.pci.link_width if isinstance(gpu.pci, PciDevice) else gpu.pci
    silent = isinstance(link, Missing) and link.cause is Cause.LOST
    yield Problem(
        message=f"{gpu.label} was lost while the driver had it: {address.reason}.",
        confidence=Confidence.CERTAIN if silent or told else Confidence.LIKELY,
        evidence=(
            Evidence("NVML", address.reason, "libnvidia-ml.so.1"),
            Evidence("PCI link", link.reason if isinstance(link, Missing) else f"x{link}", f"/sys/bus/pci/devices/{gpu.key}"),
            *as_evidence(told, log),
        ),
        fixes=(
            Fix("Save what the kernel says of it", f"sudo dmesg | grep -E 'NVRM|Xid|{gpu.key.removeprefix('0000:')}'", ("root",)),
            Fix(
                "Power the machine off and on; if it happens again, check power, riser and slot, or replace the card.",
                needs=("root", "reboot"),
            ),
        ),
    )


def _bound(gpu: Gpu) -> str:
    return _holder(gpu.pci) if isinstance(gpu.pci, PciDevice) else f"not known ({gpu.pci.reason})"


def _holder(device: PciDevice) -> str:
    return device.driver if isinstance(device.driver, str) else f"none ({device.driver.reason})"


RULES = (no_gpu, gpu_count_mismatch, gpu_fell_off_bus)
