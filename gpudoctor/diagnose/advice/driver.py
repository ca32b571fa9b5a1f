"""How to install or update the NVIDIA driver: the distribution's package, NVIDIA's repository, or NVIDIA's installer."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import EffectiveCuda, MachineView, Site
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.advice.driver_packages import DriverBounds, choose_package, driver_bounds, driver_packages, repository_system
from gpudoctor.diagnose.advice.message_fixes import log_match
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.expressions import expression
from gpudoctor.findings import DOWNLOAD, REBOOT, ROOT, Action, Fix
from gpudoctor.matrix import DriverPackage
from gpudoctor.snapshot import Missing, Platform
from gpudoctor.versions import Version

DOWNLOAD_PAGE = "https://www.nvidia.com/drivers"
_REPOSITORY = "https://developer.download.nvidia.com/compute/cuda/repos"
_KEYRING = "cuda-keyring_1.1-1_all.deb"
_DNF_SYSTEMS = ("rhel", "amzn")
"""The systems whose NVIDIA repository is for dnf."""
_RPM_FUSION = " ".join(
    f'"https://download1.rpmfusion.org/{part}/fedora/rpmfusion-{part}-release-$(rpm -E %fedora).noarch.rpm"' for part in ("free", "nonfree")
)
"""The packages that add RPM Fusion, which has the driver for Fedora."""
_DEFAULT_COMMANDS = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt install nvidia-driver firmware-misc-nonfree",
    "fedora": f"sudo dnf install {_RPM_FUSION} && sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda",
    "arch": "sudo pacman -Syu nvidia-open",
    "suse": "sudo zypper install nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06",
}
"""The command that installs the distribution's current driver, by ID or ID_LIKE of /etc/os-release, from each distribution's documentation."""
_ROLLING_DISTRIBUTION = "arch"
"""The distribution whose package is always NVIDIA's newest driver; its modules are open, so it drops GPUs before Turing."""
_AUR_BRANCHES = (580, 470, 390)
"""The branches that Arch's users package for the GPUs which the newest driver dropped: https://wiki.archlinux.org/title/NVIDIA"""
_DISTRIBUTION_NAMES = {"amzn": "Amazon Linux", "debian": "Debian", "ubuntu": "Ubuntu", "rhel": "RHEL"}
_PTX_ERROR = expression(
    r"UNSUPPORTED_PTX_VERSION|UnsupportedPtxVersion|compiled with an unsupported toolchain|ptxas application ptx input[^\n]{0,80}Unsupported \.version"
)
"""What CUDA says of PTX that the driver cannot compile: minor-version compatibility is for machine code."""
RELOAD_UVM = Fix("End every program that uses the GPU, then reload nvidia_uvm", "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm")


def update_driver(
    machine: MachineView,
    floor: Version | None = None,
    *,
    title: str = "",
    flavour: str = "",
    older: bool = False,
    failed: Version | None = None,
) -> Fix:
    """Return the fix that installs the driver, `floor` or newer; `title` replaces "Install the NVIDIA driver".

    `flavour` selects open or proprietary kernel modules where the GPUs take both. `older` asks for a driver older than the installed one,
    `failed` for one newer than this.
    """
    bounds = driver_bounds(machine, floor)
    bounds = msgspec.structs.replace(bounds, flavour=bounds.flavour or flavour, failed=failed)
    fix = _update_within_bounds(machine, bounds, title, older=older)
    leads_to = bounds.newest_branch if older else bounds.floor
    if fix.action is not Action.UPDATE_DRIVER:
        return fix
    return msgspec.structs.replace(fix, driver=str(leads_to or ""), kernel_module=bounds.flavour)


def driver_floor_for_builds(machine: MachineView) -> Version | None:
    """Return the oldest driver that serves every stated build, with its PTX if a line is about that; None where no build's CUDA is known."""
    builds = [cuda for framework in machine.frameworks if isinstance(cuda := framework.cuda_or_missing, EffectiveCuda)]
    if log_match(machine, _PTX_ERROR) is None:
        floors = [cuda.floor for cuda in builds]
    else:
        floors = [cuda.exact_floor for cuda in builds] or _driver_floors_for_toolkits(machine)
    return max((floor for floor in floors if isinstance(floor, Version)), default=None)


def _driver_floors_for_toolkits(machine: MachineView) -> list[Version | Missing]:
    """Return the oldest drivers that compile what the installed toolkits' compilers write."""
    system = "windows" if machine.site.platform == Platform.WINDOWS else "linux"
    rows = (machine.matrix.driver_floor(version, system) for version, _ in system_cudas(machine.known_toolkits))
    return [row.exact for row in rows if row and row.exact]


def _update_within_bounds(machine: MachineView, bounds: DriverBounds, title: str, *, older: bool) -> Fix:
    title = title or (f"Update the NVIDIA driver to {_floor_text(bounds.floor)}" if bounds.floor else "Install the NVIDIA driver")
    elsewhere = _update_elsewhere(machine.site, title, _kernel_modules_clause(bounds))
    if elsewhere is not None:
        return elsewhere
    if bounds.is_contradictory:
        return Fix(
            f"Keep driver branch {bounds.newest_branch}, the last that supports this GPU, and install a build for an older CUDA version.",
            action=Action.REINSTALL_PACKAGE,
        )
    if bounds.flavour == "impossible":
        return Fix(
            "Remove the oldest or the newest GPU: no kernel module supports both Blackwell and GPUs older than Turing.",
            needs=(REBOOT,),
            action=Action.REPLACE_HARDWARE,
        )
    package = choose_package(machine, bounds, older=older)
    if package is not None:
        command = _install_command(package, machine.site, bounds)
        return Fix(
            f"{title}{_package_source(package, machine.site)}{_kernel_modules_clause(bounds)}, then reboot",
            command,
            (ROOT, DOWNLOAD, REBOOT),
            action=Action.UPDATE_DRIVER,
        )
    command = distribution_command(machine.site, _DEFAULT_COMMANDS)
    any_will_do = bounds == DriverBounds() and not driver_packages(machine)
    newest_will_do = _ROLLING_DISTRIBUTION in machine.site.distribution and bounds.newest_branch is None and bounds.flavour != "proprietary"
    if command and (any_will_do or newest_will_do):
        return Fix(f"{title}{_kernel_modules_clause(bounds)}, then reboot", command, (ROOT, DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER)
    return _use_installer(title, bounds, machine.site)


def _floor_text(floor: Version) -> str:
    return f"{floor} or newer" if any(floor[1:4]) else f"branch {floor.major} or newer"


def _update_elsewhere(site: Site, title: str, modules: str) -> Fix | None:
    """Return the fix where the driver is installed outside this system or with JetPack; None where it is installed here."""
    if site.container:
        return Fix(
            f"{title} on the host{modules}; a container uses the host's driver.",
            needs=(ROOT, DOWNLOAD, REBOOT),
            action=Action.UPDATE_DRIVER,
        )
    if site.on_wsl:
        return Fix(f"{title} in Windows, never in WSL: {DOWNLOAD_PAGE}", needs=(DOWNLOAD,), action=Action.UPDATE_DRIVER)
    if site.platform == Platform.WINDOWS:
        return Fix(f"{title}: {DOWNLOAD_PAGE}", needs=(DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER)
    if site.platform == Platform.JETSON:
        command = "sudo apt update && sudo apt install nvidia-jetpack"
        return Fix("Update JetPack, which contains the Jetson's driver", command, (ROOT, DOWNLOAD), action=Action.UPDATE_DRIVER)
    return None


def _use_installer(title: str, bounds: DriverBounds, site: Site) -> Fix:
    branch = bounds.newest_branch
    if _ROLLING_DISTRIBUTION in site.distribution and branch in _AUR_BRANCHES:
        source = f"from the AUR: nvidia-{branch}xx-dkms and nvidia-{branch}xx-utils in place of the other NVIDIA packages"
    else:
        source = f"with NVIDIA's installer{'' if branch is None else f' of branch {branch}'}{_kernel_modules_clause(bounds)}, from {DOWNLOAD_PAGE}"
    return Fix(f"{title} {source}, then reboot.", needs=(ROOT, DOWNLOAD, REBOOT), action=Action.UPDATE_DRIVER)


def _kernel_modules_clause(bounds: DriverBounds) -> str:
    return f", with its {bounds.flavour} kernel modules" if bounds.flavour else ""


def _package_source(package: DriverPackage, site: Site) -> str:
    distribution = site.distribution[0]
    system = f"{_DISTRIBUTION_NAMES.get(distribution, distribution.capitalize())} {site.release}"
    if package.origin == "nvidia":
        return f" from NVIDIA's repository for {system}"
    return f" ({system} has {package.version} in {'non-free' if distribution == 'debian' else 'restricted'})"


def _install_command(package: DriverPackage, site: Site, bounds: DriverBounds) -> str:
    if package.origin == "distribution":
        return f"sudo apt install {package.package}" + (" firmware-misc-nonfree" if site.distribution[0] == "debian" else "")
    system, architecture = repository_system(site, package)
    if package.system.startswith(_DNF_SYSTEMS):
        repository = f"{_REPOSITORY}/{system}/{architecture}/cuda-{system}.repo"
        return f"sudo dnf config-manager --add-repo {repository} && {_dnf_command(package, bounds)}"
    add = f"{_keyring_command(system, architecture)} && sudo apt update"
    if bounds.newest_branch is None:
        return f"{add} && sudo apt install {package.package}"
    pinning = f"sudo apt install nvidia-driver-pinning-{bounds.newest_branch}"
    return f"{add} && {pinning} && sudo apt install --allow-downgrades {package.package}"


def _dnf_command(package: DriverPackage, bounds: DriverBounds) -> str:
    """Return the command that installs a package, or the driver of a module stream: RHEL 8, 9 and Amazon Linux have one a flavour and branch."""
    if ":" not in package.package:
        return f"sudo dnf install {package.package}"
    stream = package.package if bounds.newest_branch is None else f"nvidia-driver:{bounds.newest_branch}-dkms"
    driver = "nvidia-open" if package.modules == "open" else "cuda-drivers"
    return f"sudo dnf module reset nvidia-driver && sudo dnf module enable {stream} && sudo dnf install {driver}"


def _keyring_command(system: str, architecture: str) -> str:
    return f"wget {_REPOSITORY}/{system}/{architecture}/{_KEYRING} && sudo dpkg -i {_KEYRING}"


def repository_command(machine: MachineView) -> str:
    """Return the command that adds NVIDIA's package repository for a release of Debian or Ubuntu; empty where the tables list none."""
    packages = driver_packages(machine)
    listed = next((package for package in packages if package.origin == "nvidia" and not package.system.startswith(_DNF_SYSTEMS)), None)
    return f"{_keyring_command(*repository_system(machine.site, listed))} && sudo apt update" if listed is not None else ""
