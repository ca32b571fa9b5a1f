"""Which kernel driver is bound to a GPU, what keeps NVIDIA's from loading, and what of NVIDIA's is installed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.advice.system import command_for
from gpudoctor.findings import Evidence, Fix
from gpudoctor.snapshot import KernelModules, Missing, PciDevice

_REBUILD_INITRAMFS = {
    "debian": "sudo update-initramfs -u",
    "ubuntu": "sudo update-initramfs -u",
    "fedora": "sudo dracut --force",
    "rhel": "sudo dracut --force",
    "suse": "sudo dracut --force",
    "arch": "sudo mkinitcpio -P",
}


def bound_driver(device: PciDevice) -> Evidence:
    """The kernel driver that a GPU is bound to, as evidence."""
    driver = device.driver if isinstance(device.driver, str) else device.driver.reason
    return Evidence("driver bound to the GPU", driver, f"/sys/bus/pci/devices/{device.address}/driver")


def blocked_module(machine: MachineView, name: str) -> tuple[Evidence, ...]:
    """The lines of the configuration that keep a module from loading, as evidence."""
    return tuple(Evidence(f"{line.how} {name}", line.where, "modprobe.d") for line in machine.kernel.blocked(name))


def installed_parts(machine: MachineView) -> tuple[Evidence, ...]:
    """The installed parts of an NVIDIA driver: its libraries, its modules for any kernel, its DKMS source."""
    found = [
        Evidence("driver library", section.library if isinstance(section.library, str) else "found", "the loader")
        for section in (machine.observed.nvml, machine.observed.libcuda)
        if not isinstance(section, Missing)
    ]
    modules = machine.observed.kernel_modules
    return (*found, *_module_files(modules)) if isinstance(modules, KernelModules) else tuple(found)


def _module_files(modules: KernelModules) -> Iterator[Evidence]:
    for module in modules.installed if isinstance(modules.installed, tuple) else ():
        if module.name == "nvidia":
            yield Evidence("module for the running kernel", module.path, "modules.dep")
    for kernel in modules.other_kernels if isinstance(modules.other_kernels, tuple) else ():
        yield Evidence("module for another kernel", kernel, "/lib/modules")
    for source in modules.dkms if isinstance(modules.dkms, tuple) else ():
        built = ", ".join(source.kernels) or "none"
        yield Evidence(f"DKMS source {source.name} {source.version}", f"built for {built}", "/var/lib/dkms")


def replace_driver(machine: MachineView, name: str, blacklist: str, *, blocked: bool) -> tuple[Fix, ...]:
    """How to keep the kernel's own driver `name` off the GPU; `blocked`: the configuration does so already."""
    if machine.site.container:
        return (Fix(f"Blacklist {name} on the host and reboot it: a container uses the host's driver.", needs=(ROOT, REBOOT)),)
    if blocked:
        title, steps = f"Rebuild the initial RAM disk, which still loads {name}, and reboot", []
    else:
        title, steps = f"Blacklist {name}, rebuild the initial RAM disk, and reboot", [blacklist]
    steps += [command_for(machine.site, _REBUILD_INITRAMFS), "sudo reboot"]
    keep_off = Fix(title, " && ".join(filter(None, steps)), (ROOT, REBOOT))
    return (keep_off,) if installed_parts(machine) else (update_driver(machine), keep_off)
