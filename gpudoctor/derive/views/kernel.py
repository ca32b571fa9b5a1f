"""What rules see of the kernel: the drivers that GPUs are bound to, their modules, and the kernel log."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, cached_property

from gpudoctor import versions
from gpudoctor.derive.driver import Driver, driver_release_of_nvml
from gpudoctor.derive.rule_endings import CouldNotTell, not_applicable, require_known
from gpudoctor.derive.views.view import Field, PartView
from gpudoctor.findings import Rung
from gpudoctor.snapshot import Blocked, Cause, Fact, KernelDriver, KernelModules, Missing, ModuleFile, PciDevice, is_absent
from gpudoctor.versions import Version

GUEST_DRIVERS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Kernel drivers that keep a device for a virtual machine."""
NOUVEAU = "nouveau"
_NOVA_NAMES = ("nova", "novacore", "novadrm")
"""The names nova's parts give themselves (NovaCore, nova_core, nova-drm), without case, dashes and underscores."""
_BROKEN_LINE = r" {0,80}\n(?:NVRM: )?(?=(?:installed|is|nvidia\.ko|required|System|\(PCI|requires|this|NVIDIA) )"
"""Where the driver splits a sentence over two log lines."""


def is_nova(device: PciDevice) -> bool:
    """Whether nova, the kernel's Rust driver for NVIDIA GPUs, is bound to a device."""
    return isinstance(device.driver, str) and device.driver.lower().replace("-", "").replace("_", "") in _NOVA_NAMES


def has_open_source_driver(device: PciDevice) -> bool:
    """Whether nouveau or nova is bound to a device; neither runs CUDA."""
    return device.driver == NOUVEAU or is_nova(device)


class KernelView(PartView):
    """The kernel of one machine, as it bears on its GPUs."""

    flavour = Field[str]("driver", Rung.KERNEL_DRIVER)
    modules = Field[tuple[str, ...]]("driver", Rung.KERNEL_DRIVER)

    @property
    def driver(self) -> KernelDriver:
        """The loaded NVIDIA kernel driver; the rule does not apply if none is loaded."""
        driver = self.machine.kernel_driver
        if not self.machine.site.has_pci or isinstance(driver.version, Missing):
            not_applicable("no NVIDIA kernel driver is loaded here")
        return driver

    @property
    def cuda_error_despite_nvml(self) -> int | None:
        """cuInit's error although NVML works; None if there is no answer or NVML fails too. Needs a loaded driver."""
        return self.machine.cuda_init_code if self.driver and self.machine.nvml_works else None

    @property
    def driver_version(self) -> str:
        """The version of the loaded NVIDIA kernel driver; empty if none is loaded or it is unknown."""
        driver = self.observed.kernel_driver
        return driver.version.value if isinstance(driver, KernelDriver) and isinstance(driver.version, Fact) else ""

    @property
    def installed_release(self) -> tuple[Version, str]:
        """The version of the loaded or otherwise the installed driver, and its source."""
        loaded = self.machine.driver_or_missing
        if isinstance(loaded, Driver):
            return loaded.version, loaded.where
        modules = self.observed.kernel_modules
        sources = modules.dkms if isinstance(modules, KernelModules) and isinstance(modules.dkms, tuple) else ()
        stated = [(driver_release_of_nvml(self.observed.nvml), "NVML's own version"), *((source.version, "DKMS") for source in sources)]
        for text, where in stated:
            version = versions.parse_version(text)
            if version is not None:
                return version, where
        if loaded.cause is Cause.ABSENT:
            not_applicable("no installed NVIDIA driver states its version")
        raise CouldNotTell(loaded, Rung.KERNEL_DRIVER)

    @property
    def installed_flavour(self) -> str:
        """Whether the loaded or installed modules are open or proprietary; empty if unknown."""
        driver, modules = self.observed.kernel_driver, self.observed.kernel_modules
        if isinstance(driver, KernelDriver) and isinstance(driver.flavour, str):
            return driver.flavour
        if isinstance(modules, Missing):
            return ""
        paths = [module.path for module in modules.installed] if isinstance(modules.installed, tuple) else []
        names = [source.name for source in modules.dkms] if isinstance(modules.dkms, tuple) else []
        return "open" if any("open" in text for text in (*paths, *names)) else ""

    @property
    def gpus(self) -> tuple[PciDevice, ...]:
        """The NVIDIA GPUs on the PCI bus; the rule does not apply to a platform whose GPUs are not on one."""
        return tuple(device for device in self.machine.pci_devices if device.is_nvidia_gpu)

    @property
    def undriven_gpus(self) -> tuple[PciDevice, ...]:
        """The GPUs, except those kept for virtual machines, if no NVIDIA driver is loaded; empty if one is.

        The rule does not apply without such a GPU, and ends if it is unknown whether a driver is loaded.
        """
        gpus = tuple(device for device in self.gpus if device.driver not in GUEST_DRIVERS)
        if not gpus:
            not_applicable("no NVIDIA GPU on the PCI bus needs a driver")
        driver = self.observed.kernel_driver
        version = driver if isinstance(driver, Missing) else driver.version
        if is_absent(version):
            return gpus
        require_known(version, Rung.KERNEL_DRIVER)
        return ()

    @property
    def lacks_driver(self) -> bool:
        """Whether a GPU needs a driver and none is loaded. A text that does not list the PCI bus is about some GPU."""
        pci = self.observed.pci
        if not isinstance(pci, Missing) or pci.cause is not Cause.NOT_STATED:
            return bool(self.undriven_gpus)
        version = self.machine.kernel_driver.version
        return is_absent(version)

    @property
    def has_other_driver(self) -> bool:
        """Whether another driver has a GPU that no NVIDIA driver does."""
        if isinstance(self.observed.pci, Missing):
            return any(map(self.is_module_listed, (NOUVEAU, "nova_core")))
        return any(isinstance(gpu.driver, str) for gpu in self.undriven_gpus)

    def is_module_listed(self, module: str) -> bool:
        """Whether lsmod lists a module; False where the bus is known, which says more: the driver that each GPU is bound to."""
        driver, pci = self.observed.kernel_driver, self.observed.pci
        listed = driver.modules if isinstance(driver, KernelDriver) else ()
        return isinstance(pci, Missing) and isinstance(listed, tuple) and module in listed

    @property
    def module_files(self) -> KernelModules:
        """The kernel modules on disk and what keeps them from loading; the rule does not apply in a container."""
        if self.machine.site.container:
            not_applicable("kernel modules belong to the host; run gpudoctor there")
        return self.machine.kernel_modules

    @property
    def nvidia_module(self) -> ModuleFile | None:
        """NVIDIA's module for the running kernel; None if there is none. Ends the rule if unknown."""
        installed = require_known(self.module_files.installed, Rung.KERNEL_DRIVER)
        return next((module for module in installed if module.name == "nvidia"), None)

    @property
    def suspends(self) -> int:
        """How often the machine has slept since boot; 0 for a kernel that cannot sleep. Ends the rule if unknown."""
        suspends = self.machine.kernel_modules.suspends
        return 0 if is_absent(suspends) else require_known(suspends)

    def blocked(self, module: str) -> tuple[Blocked, ...]:
        """The configuration lines that keep a module from loading; empty if there are none, or if unknown."""
        modules = self.observed.kernel_modules
        blocked = modules.blocked if isinstance(modules, KernelModules) else ()
        return () if isinstance(blocked, Missing) else tuple(line for line in blocked if line.name == module)

    def parameter(self, name: str) -> str:
        """The value of a module's parameter ("nvidia_uvm.uvm_disable_hmm"); empty if the kernel does not show it."""
        driver = self.observed.kernel_driver
        parameters = driver if isinstance(driver, Missing) else driver.parameters
        return "" if isinstance(parameters, Missing) else next((seen.value for seen in parameters if seen.name == name), "")

    def last_line(self, pattern: str, address: str = "") -> str:
        """The last line of the kernel log that matches a pattern and names the GPU at `address`, if given; otherwise empty."""
        return next((line for line in self._lines_with(pattern) if _names_address(line, address)), "")

    @cached_property
    def _lines_with(self) -> Callable[[str], list[str]]:
        """The lines of the kernel log that match a pattern, the last one first; many GPUs ask for the same."""
        log = self.observed.kernel_log
        broken = "" if isinstance(log, Missing) else "\n".join(log.lines)
        lines = re.sub(_BROKEN_LINE, " ", broken).split("\n")[::-1]
        return cache(lambda pattern: [line for line in lines if re.search(pattern, line, re.IGNORECASE)])


def _names_address(line: str, address: str) -> bool:
    """Whether a line names a PCI address; NVIDIA writes it with and without the function."""
    return address in line or re.search(rf"{re.escape(address.removesuffix('.0'))}\b", line) is not None
