"""How rules about the kernel side read its facts, and the commands that differ by distribution."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.derive.gpus import is_gpu
from gpudoctor.diagnose.rule import need, not_applicable
from gpudoctor.findings import Evidence, Rung
from gpudoctor.snapshot import Cause, KernelDriver, KernelLog, KernelModules, Libcuda, Missing, Nvml, Pci, PciDevice, Snapshot, Status

FOR_GUESTS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Kernel drivers that hold a device for a virtual machine."""
NOUVEAU = "nouveau"
NOVA = ("nova", "novacore", "novadrm")
"""How nova's parts call themselves to the kernel, without case, dashes and underscores: NovaCore, nova_core, nova-drm."""
CUDA_UNUSABLE = (3, 100, 999)
"""CUDA_ERROR_NOT_INITIALIZED, NO_DEVICE and UNKNOWN: what cuInit answers where nodes or nvidia_uvm are at fault."""

INITRAMFS = {
    "debian": "sudo update-initramfs -u",
    "ubuntu": "sudo update-initramfs -u",
    "fedora": "sudo dracut --force",
    "rhel": "sudo dracut --force",
    "suse": "sudo dracut --force",
    "arch": "sudo mkinitcpio -P",
}
HEADERS = {
    "debian": 'sudo apt install "linux-headers-$(uname -r)"',
    "ubuntu": 'sudo apt install "linux-headers-$(uname -r)"',
    "fedora": 'sudo dnf install "kernel-devel-$(uname -r)"',
    "rhel": 'sudo dnf install "kernel-devel-$(uname -r)"',
    "suse": "sudo zypper install kernel-default-devel",
    "arch": "sudo pacman -S linux-headers",
}


def is_nova(device: PciDevice) -> bool:
    """Whether nova, the kernel's Rust driver for NVIDIA GPUs, is bound to a device."""
    return isinstance(device.driver, str) and device.driver.lower().replace("-", "").replace("_", "") in NOVA


def is_free_driver(device: PciDevice) -> bool:
    """Whether one of the kernel's own drivers, nouveau or nova, is bound to a device; neither runs CUDA."""
    return device.driver == NOUVEAU or is_nova(device)


def parameter(kernel_driver: KernelDriver, name: str) -> str:
    """The value of a module's parameter ("nvidia_uvm.uvm_disable_hmm"); empty where the kernel does not show it."""
    parameters = kernel_driver.parameters
    return "" if isinstance(parameters, Missing) else next((one.value for one in parameters if one.name == name), "")


def here(site: Site, commands: dict[str, str]) -> str:
    """The command of this distribution, or of the one that it is like; empty where none is known."""
    return next((commands[name] for name in site.distribution if name in commands), "")


def undriven(pci: Pci, kernel_driver: KernelDriver | Missing, site: Site) -> list[PciDevice]:
    """The NVIDIA GPUs of a machine on which no NVIDIA driver is loaded, without those set aside for guests; none where one is loaded.

    Ends the rule where there is no such GPU, or where it cannot be told whether a driver is loaded.
    """
    if not site.has_pci:
        not_applicable("the GPU's driver is not a Linux kernel module on this platform")
    mine = [device for device in pci.devices if is_gpu(device) and device.driver not in FOR_GUESTS]
    if not mine:
        not_applicable("no NVIDIA GPU is on the PCI bus for a driver to drive")
    version = kernel_driver if isinstance(kernel_driver, Missing) else kernel_driver.version
    if not isinstance(version, Missing):
        return []
    if version.cause is not Cause.ABSENT:
        need(version, Rung.KERNEL_DRIVER)
    return mine


def traces(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """What there is of an installed NVIDIA driver: its libraries, its modules for any kernel, its source."""
    found = [
        Evidence("driver library", section.library if isinstance(section.library, str) else "found", "the loader")
        for section in (snapshot.nvml, snapshot.libcuda)
        if not isinstance(section, Missing)
    ]
    modules = snapshot.kernel_modules
    if isinstance(modules, KernelModules):
        found += _module_traces(modules)
    return tuple(found)


def _module_traces(modules: KernelModules) -> Iterator[Evidence]:
    if isinstance(modules.installed, tuple):
        yield from (Evidence("module for the running kernel", one.path, "modules.dep") for one in modules.installed if one.name == "nvidia")
    if isinstance(modules.other_kernels, tuple):
        yield from (Evidence("module for another kernel", kernel, "/lib/modules") for kernel in modules.other_kernels)
    for one in modules.dkms if isinstance(modules.dkms, tuple) else ():
        built = ", ".join(one.kernels) or "none"
        yield Evidence(f"DKMS source {one.name} {one.version}", f"built for {built}", "/var/lib/dkms")


def kept_out(modules: KernelModules | Missing, name: str) -> tuple[Evidence, ...]:
    """Where the configuration keeps a module from being loaded."""
    blocked = modules.blocked if isinstance(modules, KernelModules) else ()
    return (
        ()
        if isinstance(blocked, Missing)
        else tuple(Evidence(f"{one.how} {name}", one.where, "modprobe.d") for one in blocked if one.name == name)
    )


def said(log: KernelLog | Missing, pattern: str, gpu: Gpu | None = None) -> tuple[Evidence, ...]:
    """The last line of the log that matches, or that does and names this GPU; the driver breaks its sentences over several lines."""
    if isinstance(log, Missing):
        return ()
    text = re.sub(
        r" {0,80}\n(?:NVRM: )?(?=(?:installed|is|nvidia\.ko|required|System|\(PCI|requires|this|NVIDIA) )", " ", "\n".join(log.lines)
    )
    wanted = re.compile(pattern, re.IGNORECASE)
    hits = [line for line in text.split("\n") if wanted.search(line) and (gpu is None or names(line, gpu))]
    return tuple(Evidence("kernel log", line[:240], log.where) for line in hits[-1:])


def names(line: str, gpu: Gpu) -> bool:
    """Whether a line of the log is about this GPU; NVIDIA writes its address with and without the function."""
    return gpu.key in line or re.search(rf"{re.escape(gpu.key.removesuffix('.0'))}\b", line) is not None


def answered(section: Nvml | Libcuda | Missing) -> int | None:
    """What the library's initialisation answered; None where it was not heard."""
    return section.init.code if not isinstance(section, Missing) and isinstance(section.init, Status) else None


def cuda_answered(snapshot: Snapshot) -> int | None:
    """What cuInit answered, without CUDA_VISIBLE_DEVICES where that is set."""
    unmasked = answered(snapshot.libcuda_unmasked)
    return answered(snapshot.libcuda) if unmasked is None else unmasked
