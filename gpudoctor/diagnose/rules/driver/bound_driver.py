"""Which kernel driver is bound to a GPU, what blocks NVIDIA's module, and which parts of NVIDIA's driver are installed."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.kernel_log import kernel_log_evidence
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.findings import REBOOT, ROOT, Confidence, Evidence, Fix, Problem, Problems, Severity
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.snapshot import KernelModules, Missing, PciDevice, Status

_REBUILD_INITRAMFS = {
    "debian": "sudo update-initramfs -u",
    "ubuntu": "sudo update-initramfs -u",
    "fedora": "sudo dracut --force",
    "rhel": "sudo dracut --force",
    "suse": "sudo dracut --force",
    "arch": "sudo mkinitcpio -P",
}


def bound_driver_evidence(device: PciDevice) -> Evidence:
    """Return the kernel driver that a GPU is bound to, as evidence."""
    driver = device.driver if isinstance(device.driver, str) else device.driver.reason
    return Evidence("driver bound to the GPU", driver, f"/sys/bus/pci/devices/{device.address}/driver")


class InTreeDriver(NamedTuple):
    """A driver of the kernel's own for NVIDIA GPUs; NVIDIA's cannot bind a GPU that it has."""

    name: str
    module: str
    blacklist: str
    """The command that keeps it from loading."""
    log_line: str = ""
    """A pattern for what the kernel logs if NVIDIA's driver finds a GPU bound to it."""


def bound_driver_problems(machine: MachineView, driver: InTreeDriver, is_held: Callable[[PciDevice], bool]) -> Problems:
    """Yield the problem of GPUs that the kernel's own driver holds, or of a text that lists it and shows that NVIDIA's is not loaded."""
    if machine.kernel.is_module_listed(driver.module) and machine.kernel.lacks_driver:
        yield Problem(
            message=f"The kernel's driver {driver.name} is loaded, and the NVIDIA driver is not.",
            evidence=(Evidence("loaded module", driver.module, "lsmod"),),
            fixes=replace_driver(machine, driver),
            confidence=Confidence.LIKELY,
        )
    gpus = machine.kernel.gpus
    held = [gpu for gpu in gpus if is_held(gpu)]
    if not held:
        return
    addresses = joined_words(gpu.address for gpu in held)
    bound = singular_or_plural(len(held), f"GPU {addresses} is bound", f"GPUs {addresses} are bound")
    consequence = "not to the NVIDIA driver" if installed_driver_parts(machine) else "and no NVIDIA driver is installed"
    blocked = blocking_lines(machine, driver.module)
    log = kernel_log_evidence(machine, driver.log_line) if driver.log_line else ()
    yield Problem(
        severity=Severity.WARNING if any(gpu.driver == "nvidia" for gpu in gpus) else None,
        message=f"{bound} to {driver.name}, {consequence}.",
        evidence=(*(bound_driver_evidence(gpu) for gpu in held), *blocked, *log),
        fixes=replace_driver(machine, driver, blocked=bool(blocked)),
    )


def blocking_lines(machine: MachineView, name: str) -> tuple[Evidence, ...]:
    """Return the lines in modprobe.d that block a module, as evidence."""
    return tuple(Evidence(f"{line.how} {name}", line.where, "modprobe.d") for line in machine.kernel.blocked(name))


def installed_driver_parts(machine: MachineView) -> tuple[Evidence, ...]:
    """Return the installed parts of an NVIDIA driver: libraries, modules for any kernel, DKMS source."""
    found = [
        Evidence("driver library", section.library if isinstance(section.library, str) else "found", "the loader")
        for section in (machine.observed.nvml, machine.observed.libcuda)
        if not isinstance(section, Missing) and (isinstance(section.library, str) or isinstance(section.init, Status))
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


def replace_driver(machine: MachineView, driver: InTreeDriver, *, blocked: bool = False) -> tuple[Fix, ...]:
    """Return the fixes that keep the kernel's own driver off the GPU; `blocked` if modprobe.d already does."""
    name = driver.name
    if machine.site.container:
        return (Fix(f"Blacklist {name} on the host and reboot the host; a container uses the host's driver.", needs=(ROOT, REBOOT)),)
    install = () if installed_driver_parts(machine) else (update_driver(machine),)
    steps = [*(() if blocked else (driver.blacklist,)), distribution_command(machine.site, _REBUILD_INITRAMFS)]
    title = f"Rebuild the initial RAM disk, which still loads {name}" if blocked else f"Blacklist {name} and rebuild the initial RAM disk"
    if install and install[0].command:  # packages install beside the loaded driver; NVIDIA's installer refuses to
        return Fix(title, _joined_commands(steps), (ROOT,)), *install
    return Fix(f"{title}, then reboot", _joined_commands([*steps, "sudo reboot"]), (REBOOT,)), *install


def _joined_commands(steps: Iterable[str]) -> str:
    return " && ".join(filter(None, steps))
