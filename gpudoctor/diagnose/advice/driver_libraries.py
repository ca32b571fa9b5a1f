"""How to install one library of the loaded driver, in exactly the driver's version: any other would not match the kernel module."""

from __future__ import annotations

import msgspec

from gpudoctor.derive import Driver, MachineView
from gpudoctor.diagnose.advice.driver import update_driver
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Fix, FixKind

LIBCUDA, PTX_COMPILER = "CUDA library (libcuda)", "PTX compiler (libnvidia-ptxjitcompiler)"
_DNF_COMMAND = "sudo dnf reinstall {package} || sudo dnf install {package}"
_INSTALL_COMMANDS = {
    "ubuntu": "sudo apt install --reinstall 'libnvidia-compute-{branch}={release}-*'",
    "debian": "sudo apt install --reinstall '{debian}={release}-*'",
    "rhel": _DNF_COMMAND.format(package="nvidia-driver-cuda-libs-{release}"),
    "fedora": _DNF_COMMAND.format(package="xorg-x11-drv-nvidia-cuda-libs-{release}"),
    "suse": "sudo zypper install --force nvidia-compute-G06={release}",
}
"""The package with the library, by distribution, from the source that `update_driver` uses. Arch has no older releases.

The commands also restore a deleted file of an installed package: `dnf install` would not, and `dnf reinstall` alone refuses a package that is not
installed. Packages: NVIDIA/yum-packaging-nvidia-driver, rpmfusion/xorg-x11-drv-nvidia, openSUSE's nvidia-driver-G06.spec.
"""
_DEBIAN_PACKAGES = {LIBCUDA: "libcuda1", PTX_COMPILER: "libnvidia-ptxjitcompiler1"}


def install_driver_library(machine: MachineView, library: str) -> tuple[Fix, ...]:
    """Return the fixes that install a library of the loaded driver, or the whole driver where its packages are gone."""
    if machine.site.container:
        title = f"Start the container with the driver's {library}: NVIDIA_DRIVER_CAPABILITIES must contain compute."
        return (Fix(title, action=Action.RESTART_JOB),)
    driver = machine.driver_or_missing
    if not isinstance(driver, Driver):
        return (update_driver(machine, title="Install the complete NVIDIA driver"),)
    release = str(driver.version)
    whole = update_driver(machine, title=f"Install the complete NVIDIA driver {release} or newer")
    command = distribution_command(machine.site, _INSTALL_COMMANDS).format(
        branch=driver.version.major, release=release, debian=_DEBIAN_PACKAGES[library]
    )
    if not command:
        return (whole,)
    exact = Fix(f"Install the driver's {library}, version {release}", command, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE)
    return exact, msgspec.structs.replace(whole, kind=FixKind.ELSE)
