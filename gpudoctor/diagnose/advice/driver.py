"""How to install the driver here: the package of this distribution's release that is new enough, NVIDIA's own repository, or its installer."""

from __future__ import annotations

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Gpu, MachineView, Site
from gpudoctor.derive.code import capability
from gpudoctor.diagnose.advice.needs import DOWNLOAD, REBOOT, ROOT
from gpudoctor.findings import Fix
from gpudoctor.matrix import DriverPackage, Matrix
from gpudoctor.matrix.tables import DRIVERS
from gpudoctor.snapshot import PciDevice, Platform
from gpudoctor.versions import Version

DOWNLOADS = "https://www.nvidia.com/drivers"
TURING, BLACKWELL = Version(7, 5, text="7.5"), Version(10, text="10.0")
"""The open kernel modules drive Turing and all later GPUs, and they alone drive Blackwell: NVIDIA's driver installation guide."""
_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos"
_KEYRING = "cuda-keyring_1.1-1_all.deb"
_ANY = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt install nvidia-driver firmware-misc-nonfree",
    "rhel": "sudo dnf module install nvidia-driver:latest-dkms",
    "fedora": "sudo dnf install akmod-nvidia",
    "arch": "sudo pacman -S nvidia-open",
    "suse": "sudo zypper install nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06",
}
"""A driver of whatever release, by the ID or ID_LIKE of /etc/os-release, as each distribution's own documentation has it."""
_ROLLING = ("arch",)
"""Distributions whose package is always NVIDIA's newest."""
_CALLED = {"debian": "Debian", "ubuntu": "Ubuntu", "rhel": "RHEL"}


class Wanted(msgspec.Struct, frozen=True):
    """Which drivers will do."""

    least: Version | None = None
    """A branch alone where its patch and minor are 0."""
    newest_branch: int | None = None
    """The last branch that drives every GPU here; None where the newest does."""
    flavour: str = ""
    """open or proprietary, where the GPUs take only that; "impossible" where no flavour drives all of them."""

    def fits(self, package: DriverPackage) -> bool:
        """Whether a package installs such a driver; a package that follows the newest one can be held at a branch."""
        if self.flavour and package.modules != self.flavour:
            return False
        if package.version is None:
            return True
        young = self.newest_branch is None or package.version.major <= self.newest_branch
        return young and (self.least is None or package.version >= self.least)


def wanted(machine: MachineView, least: Version | None = None) -> Wanted:
    """Which drivers would do for the GPUs of this machine."""
    found = [one for gpu in machine.hardware if not gpu.set_aside and (one := _generation(gpu, machine.matrix)) is not None]
    branches = [machine.matrix.branches_for(one) for one in found]
    first = max((branch for branch, _ in branches if branch is not None), default=0)
    last = min((branch for _, branch in branches if branch is not None), default=None)
    newest = max((row.branch for row in machine.matrix.rows(DRIVERS)), default=0)
    floor = Version(first, text=str(first)) if first and (least is None or least.major < first) else least
    new, old = any(one >= BLACKWELL for one in found), any(one < TURING for one in found)
    flavour = "impossible" if new and old else "open" if new else "proprietary" if old else ""
    return Wanted(floor if least is not None or new else None, last if last is not None and last < newest else None, flavour)


def _generation(gpu: Gpu, matrix: Matrix) -> Version | None:
    """A GPU's compute capability; of one that no driver has bound, its chip's."""
    chip = matrix.chip(gpu.pci.device) if isinstance(gpu.pci, PciDevice) else None
    return capability(gpu, matrix) or (chip.compute_capability if chip is not None else None)


def update_driver(machine: MachineView, least: Version | None = None, *, what: str = "", flavour: str = "", older: bool = False) -> Fix:
    """How to install the driver here, `least` or a newer one; `what` begins the title in place of "Install the NVIDIA driver".

    `flavour` is that of its kernel modules, where the GPUs do not tell. `older`: than the one that is installed.
    """
    site, will_do = machine.site, wanted(machine, least)
    will_do = msgspec.structs.replace(will_do, flavour=will_do.flavour or flavour)
    title = what or (f"Update the NVIDIA driver to {_spoken(will_do.least)}" if will_do.least else "Install the NVIDIA driver")
    elsewhere = _elsewhere(site, title)
    if elsewhere is not None:
        return elsewhere
    if will_do.least is not None and will_do.newest_branch is not None and will_do.least.major > will_do.newest_branch:
        return Fix(
            f"Keep driver branch {will_do.newest_branch}, the last that drives this GPU: no driver does both, so change the build instead."
        )
    if will_do.flavour == "impossible":
        return Fix("Remove the oldest or the newest GPU: no kernel module drives both Blackwell and GPUs before Turing.", needs=(REBOOT,))
    package = _package(machine.matrix, site, will_do, older=older)
    if package is not None:
        return Fix(f"{title}{_from(package, site)}, then reboot", _command(package, site, will_do), (ROOT, DOWNLOAD, REBOOT))
    rolling = any(name in _ROLLING for name in site.distribution)
    known = next((_ANY[name] for name in site.distribution if name in _ANY), "")
    if known and (rolling or (will_do == Wanted() and not _packages(machine.matrix, site))):
        return Fix(f"{title}, then reboot", known, (ROOT, DOWNLOAD, REBOOT))
    modules = f", with its {will_do.flavour} kernel modules" if will_do.flavour else ""
    branch = f" of branch {will_do.newest_branch}" if will_do.newest_branch is not None else ""
    return Fix(f"{title} with NVIDIA's installer{branch}{modules}, from {DOWNLOADS}, then reboot.", needs=(ROOT, DOWNLOAD, REBOOT))


def _spoken(least: Version | None) -> str:
    if least is None:
        return ""
    return f"branch {least.major} or newer" if not any(least[1:4]) else f"{least} or newer"


def _elsewhere(site: Site, title: str) -> Fix | None:
    """Where the driver is not this system's to install."""
    if site.container:
        return Fix(f"{title} on the host; a container uses the host's driver.", needs=(ROOT, DOWNLOAD, REBOOT))
    if site.on_wsl:
        return Fix(f"{title} in Windows, never in WSL: {DOWNLOADS}", needs=(DOWNLOAD,))
    if site.platform == Platform.WINDOWS:
        return Fix(f"{title}: {DOWNLOADS}", needs=(DOWNLOAD, REBOOT))
    if site.platform == Platform.JETSON:
        return Fix(
            "Update JetPack, which holds the driver of a Jetson", "sudo apt update && sudo apt install nvidia-jetpack", (ROOT, DOWNLOAD)
        )
    return None


def _packages(matrix: Matrix, site: Site) -> tuple[DriverPackage, ...]:
    """What the tables know of this distribution's release, or of the RHEL that it rebuilds."""
    names = [f"{site.distribution[0]}-{site.release}"] if site.distribution else []
    if "rhel" in site.distribution:
        names.append(f"rhel-{site.release.partition('.')[0]}")
    return next((found for name in names if (found := matrix.driver_packages(name))), ())


def _package(matrix: Matrix, site: Site, will_do: Wanted, *, older: bool = False) -> DriverPackage | None:
    """The distribution's newest fitting package of a branch that is maintained for long, else its newest, else NVIDIA's own.

    A package whose name holds no branch goes back to an older driver only where NVIDIA's repository can hold it there.
    """
    fitting = [one for one in _packages(matrix, site) if will_do.fits(one)]
    if not will_do.flavour:
        fitting = [one for one in fitting if one.modules == "proprietary"]
    own = [one for one in fitting if one.origin == "distribution" and not (older and one.package == "nvidia-driver")]
    lasting = [one for one in own if one.version and (row := matrix.driver(one.version)) and row.kind in {"production", "long-term"}]
    return next(iter((lasting or own or fitting)[-1:]), None)


def _from(package: DriverPackage, site: Site) -> str:
    system = f"{_CALLED.get(site.distribution[0], site.distribution[0].capitalize())} {site.release}"
    if package.origin == "nvidia":
        return f" from NVIDIA's repository for {system}"
    return f" ({system} has {package.version} in {'non-free' if site.distribution[0] == 'debian' else 'restricted'})"


def _command(package: DriverPackage, site: Site, will_do: Wanted) -> str:
    if package.origin == "distribution":
        return f"sudo apt install {package.package}" + (" firmware-misc-nonfree" if site.distribution[0] == "debian" else "")
    machine = "sbsa" if site.architecture == "aarch64" else "x86_64"
    if package.system.startswith("rhel"):
        name = package.system.replace("-", "")
        stream = package.package
        if will_do.newest_branch is not None:
            stream = f"nvidia-driver:{will_do.newest_branch}-dkms"
        repository = f"{_REPOSITORY}/{name}/{machine}/cuda-{name}.repo"
        return f"sudo dnf config-manager --add-repo {repository} && sudo dnf module install {stream}"
    name = package.system.replace("-", "").replace(".", "")
    held = ""
    if will_do.newest_branch is not None:
        held = f"sudo apt install nvidia-driver-pinning-{will_do.newest_branch} && "
    downgrade = " --allow-downgrades" if held else ""
    return f"{_keyring(name, machine)} && sudo apt update && {held}sudo apt install{downgrade} {package.package}"


def _keyring(name: str, machine: str) -> str:
    return f"wget {_REPOSITORY}/{name}/{machine}/{_KEYRING} && sudo dpkg -i {_KEYRING}"


def repository(machine: MachineView) -> str:
    """The command that adds NVIDIA's package repository for a release of Debian or Ubuntu; empty where the tables know none."""
    site = machine.site
    known = next((one for one in _packages(machine.matrix, site) if one.origin == "nvidia" and not one.system.startswith("rhel")), None)
    if known is None:
        return ""
    board = "sbsa" if site.architecture == "aarch64" else "x86_64"
    return f"{_keyring(known.system.replace('-', '').replace('.', ''), board)} && sudo apt update"


def least_of(text: str) -> Version | None:
    """The oldest driver that a specifier such as ">=560" allows; None where it names none."""
    digits = next((part for part in text.split(",") if part.startswith((">=", "==", "~=", ">"))), "")
    return versions.parse(digits.lstrip("<>=~ "))
