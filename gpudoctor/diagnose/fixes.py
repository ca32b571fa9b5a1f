"""Fixes that several rules offer, spelt for the distribution and the environment at hand."""

from __future__ import annotations

import shlex

from gpudoctor.derive import Site
from gpudoctor.findings import Fix
from gpudoctor.snapshot import Distribution, Missing, Python

ROOT, REBOOT, DOWNLOAD = "root", "reboot", "download"
VERIFY_DRIVER = "nvidia-smi"

_INSTALL_DRIVER = {
    "ubuntu": "sudo ubuntu-drivers install",
    "debian": "sudo apt install nvidia-driver firmware-misc-nonfree",
    "rhel": "sudo dnf module install nvidia-driver:latest-dkms",
    "fedora": "sudo dnf install akmod-nvidia",
    "arch": "sudo pacman -S nvidia-open",
    "suse": "sudo zypper install nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06",
}
"""By the ID or ID_LIKE of /etc/os-release, as each distribution's own documentation has it."""
_DRIVER_ELSEWHERE = "https://www.nvidia.com/drivers has the installer, and your distribution most likely a package."


def install_driver(site: Site, wanted: str = "the NVIDIA driver", *, newer: bool = False) -> Fix:
    """How to install the driver here, or a `newer` one; inside a container it is the host's to do."""
    if site.container:
        return Fix(f"Install {wanted} on the host; a container uses the host's driver.", needs=(ROOT, DOWNLOAD, REBOOT))
    if site.on_wsl:
        return Fix(f"Install {wanted} in Windows, never in WSL: {_DRIVER_ELSEWHERE}", needs=(DOWNLOAD,), verify=VERIFY_DRIVER)
    command = next((_INSTALL_DRIVER[name] for name in site.distribution if name in _INSTALL_DRIVER), "")
    offered = "; make sure first that your package source offers one" if newer else ""
    title = f"Install {wanted}, then reboot{offered}" if command else f"Install {wanted}: {_DRIVER_ELSEWHERE}"
    return Fix(title, command, (ROOT, DOWNLOAD, REBOOT), VERIFY_DRIVER)


def install_package(python: Python | Missing, *requirements: str, replace: str = "") -> str:
    """The command that installs `requirements` into the examined environment, after removing `replace` where that is named."""
    install = f"{_pip(python)} install {shlex.join(requirements)}"
    return f"{remove_packages(python, replace)} && {install}" if replace else install


def again(python: Python | Missing, *installed: Distribution) -> str:
    """The command that installs distributions again as they are, in their folder, and nothing that they require."""
    folder = next((one.where for one in installed if _outside(one.where, python)), "")
    target = ("--target", folder, "--upgrade") if folder else ()
    return install_package(python, "--force-reinstall", "--no-deps", *target, *(f"{one.name}=={one.version}" for one in installed))


def _outside(folder: str, python: Python | Missing) -> bool:
    """Whether `pip install --target` made a folder of packages: no interpreter looks there by itself."""
    own = not isinstance(python, Python) or not isinstance(python.prefix, str) or folder.startswith(f"{python.prefix}/")
    return bool(folder) and not own and not folder.endswith(("/site-packages", "/dist-packages"))


def remove_packages(python: Python | Missing, *names: str) -> str:
    """The command that removes distributions from the examined environment."""
    return f"{_pip(python)} uninstall -y {shlex.join(names)}"


def _pip(python: Python | Missing) -> str:
    return f"{shlex.quote(python.executable) if isinstance(python, Python) else 'python'} -m pip"
