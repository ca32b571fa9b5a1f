"""Which NVIDIA drivers support the GPUs of a machine, and which package of its distribution installs one."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, Gpu, MachineView, Site, gpu_code
from gpudoctor.matrix import DriverPackage, Matrix
from gpudoctor.matrix.tables import DRIVERS
from gpudoctor.snapshot import PciDevice
from gpudoctor.versions import Version

TURING, BLACKWELL = Version(7, 5, text="7.5"), Version(10, text="10.0")
"""The open kernel modules support Turing and newer GPUs, and only they support Blackwell and newer: NVIDIA's driver installation guide."""


class DriverBounds(msgspec.Struct, frozen=True):
    """The drivers that support a machine's GPUs and reach a minimum version."""

    floor: Version | None = None
    """The oldest driver that will do; a whole branch where minor and patch are 0."""
    newest_branch: int | None = None
    """The last branch that supports every GPU here; None where the newest does."""
    flavour: str = ""
    """The kernel modules that the GPUs need, open or proprietary; empty where both work, "impossible" where no flavour supports all GPUs."""
    failed: Version | None = None
    """A driver that was tried: only newer ones will do."""

    @property
    def is_contradictory(self) -> bool:
        """Whether the floor is above the newest branch."""
        return self.floor is not None and self.newest_branch is not None and self.floor.major > self.newest_branch

    def fits(self, package: DriverPackage) -> bool:
        """Return whether a package installs such a driver; one that follows the newest driver can be pinned to a branch."""
        if self.flavour and package.modules != self.flavour:
            return False
        if package.version is None:
            return True
        old_enough = self.newest_branch is None or package.version.major <= self.newest_branch
        new_enough = self.floor is None or package.version >= self.floor
        return old_enough and new_enough and (self.failed is None or package.version > self.failed)


def driver_bounds(machine: MachineView, floor: Version | None = None) -> DriverBounds:
    """Return the drivers, `floor` or newer, that support the GPUs of this machine."""
    found = [_compute_capability(gpu, machine.matrix) for gpu in machine.hardware if not gpu.is_passed_through]
    capabilities = [capability for capability in found if capability is not None]
    branches = [machine.matrix.branches_for(capability) for capability in capabilities]
    first = max((branch for branch, _ in branches if branch is not None), default=0)
    last = min((branch for _, branch in branches if branch is not None), default=None)
    newest = max((row.branch for row in machine.matrix.rows(DRIVERS)), default=0)
    if first and (floor.major < first if floor is not None else _has_blackwell(capabilities)):
        floor = Version(first, text=str(first))
    return DriverBounds(floor, last if last is not None and last < newest else None, _required_flavour(capabilities))


def _has_blackwell(capabilities: list[Version]) -> bool:
    return any(capability >= BLACKWELL for capability in capabilities)


def _required_flavour(capabilities: list[Version]) -> str:
    """Return the flavour of kernel modules that GPUs of these compute capabilities need."""
    has_older = any(capability < TURING for capability in capabilities)
    if _has_blackwell(capabilities):
        return "impossible" if has_older else "open"
    return "proprietary" if has_older else ""


def _compute_capability(gpu: Gpu, matrix: Matrix) -> Version | None:
    """Return a GPU's compute capability, from its PCI id where no driver has bound it."""
    chip = matrix.chip(gpu.pci.device) if isinstance(gpu.pci, PciDevice) else None
    return gpu_code.compute_capability(gpu, matrix) or (chip.compute_capability if chip is not None else None)


def driver_packages(machine: MachineView) -> tuple[DriverPackage, ...]:
    """Return the driver packages that the tables list for this release of the distribution, or for the RHEL that it rebuilds."""
    site = machine.site
    names = [f"{site.distribution[0]}-{site.release}"] if site.distribution else []
    if "rhel" in site.distribution:
        names.append(f"rhel-{site.release.partition('.')[0]}")
    return next((found for name in names if (found := machine.matrix.driver_packages(name))), ())


def choose_package(machine: MachineView, bounds: DriverBounds, *, older: bool = False) -> DriverPackage | None:
    """Return the distribution's fitting package named after the loaded branch, else its newest of a long-lived one, else its newest, else NVIDIA's own.

    None where none fits.

    A downgrade stays on the newest branch that supports the GPUs: by a package that names it, or by NVIDIA's repository, which pins one.
    Where the GPUs take both flavours, NVIDIA's packages are the open ones: they are its default since driver 560. Unless an older driver
    is wanted, none replaces the loaded one by an older one.
    """
    loaded = None if older else _loaded_driver(machine, bounds)
    packages = [package for package in driver_packages(machine) if not is_kernel_too_new(machine.site, package)]
    packages = [package for package in packages if loaded is None or package.version is None or package.version >= loaded]
    fitting = [package for package in packages if bounds.fits(package)]
    if not bounds.flavour:
        fitting = [package for package in fitting if package.modules == ("open" if package.origin == "nvidia" else "proprietary")]
    own = [package for package in fitting if package.version and not (older and str(bounds.newest_branch) not in package.package)]
    same = [package for package in own if loaded is not None and str(loaded.major) in package.package]
    long_lived = [package for package in own if _is_long_lived(package, machine.matrix)]
    return max(same or long_lived or own, key=lambda package: package.version, default=next(iter(fitting[-1:]), None))


def is_kernel_too_new(site: Site, package: DriverPackage) -> bool:
    """Return whether the running kernel is newer than the newest on which the distribution built this package's modules."""
    running = versions.parse_version(site.kernel)
    return running is not None and package.newest_kernel is not None and running[:2] > package.newest_kernel[:2]


def _loaded_driver(machine: MachineView, bounds: DriverBounds) -> Version | None:
    """Return the version of the loaded driver; None if none is, or the GPUs need an older branch."""
    driver = machine.driver_or_missing
    if not isinstance(driver, Driver) or (bounds.newest_branch is not None and driver.version.major > bounds.newest_branch):
        return None
    return driver.version


def _is_long_lived(package: DriverPackage, matrix: Matrix) -> bool:
    row = matrix.driver(package.version) if package.version else None
    return row is not None and row.kind in {"production", "long-term"}


def repository_system(site: Site, package: DriverPackage) -> tuple[str, str]:
    """Return a system and its architecture as NVIDIA's package repository spells them: ("ubuntu2404", "x86_64")."""
    return package.system.replace("-", "").replace(".", ""), "sbsa" if site.architecture == "aarch64" else "x86_64"
