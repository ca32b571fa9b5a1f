"""How WSL 2 uses the Windows driver, and whether a Linux driver interferes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpudoctor.probe import files
from gpudoctor.probe.details import host_memory
from gpudoctor.probe.driver_files import release_in_name
from gpudoctor.probe.system_packages import dpkg_packages
from gpudoctor.snapshot import Cause, DriverFile, Missing, Wsl, printable_text

WSL_LIBRARIES = "/usr/lib/wsl/lib"
WSL_FOLDER = "/usr/lib/wsl/"
SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib")
DRIVER_PACKAGES = (
    "libnvidia-compute",
    "libcuda1",
    "nvidia-driver",
    "nvidia-kernel",
    "nvidia-dkms",
    "nvidia-utils",
    "xserver-xorg-video-nvidia",
)
NOT_DRIVER_PACKAGES = ("nvidia-driver-assistant", "nvidia-kernel-common")


def wsl(root: str) -> Wsl:
    """The section for a machine that is WSL 2."""
    shown = files.list_folder(WSL_LIBRARIES, root)
    return Wsl(
        device=files.exists("/dev/dxg", root),
        libraries=shown if isinstance(shown, Missing) else tuple(printable_text(name) for name in shown if ".so" in name),
        linux_driver=tuple(_linux_driver_files(root)),
        packages=_linux_driver_packages(root),
        loader_conf=_loader_configuration(root),
        memory=host_memory(root).total,
    )


def _linux_driver_files(root: str) -> Iterator[DriverFile]:
    """Each libcuda.so.1 once, except those that stand in for the Windows driver's, as a container toolkit makes them."""
    base = os.path.realpath(files.path_in_tree(root, "/"))
    seen = set()
    for folder in SYSTEM_FOLDERS:
        real = os.path.realpath(files.path_in_tree(root, f"{folder}/libcuda.so.1"))
        inside = real[len(base.rstrip("/")) :] if real.startswith(base) else real
        if os.path.isfile(real) and not inside.startswith(WSL_FOLDER) and real not in seen:
            seen.add(real)
            yield DriverFile(printable_text(f"{folder}/libcuda.so.1"), release_in_name(real))


def _linux_driver_packages(root: str) -> tuple[str, ...] | Missing:
    """The installed packages of a Linux driver, by dpkg."""
    installed = dpkg_packages(root)
    if isinstance(installed, Missing):
        return installed
    return tuple(name for name, _ in installed if name.startswith(DRIVER_PACKAGES) and not name.startswith(NOT_DRIVER_PACKAGES))


def _loader_configuration(root: str) -> str | Missing:
    folder = "/etc/ld.so.conf.d"
    present = files.list_folder(folder, root)
    if isinstance(present, Missing):
        return present
    for name in present:
        if any(line.strip().rstrip("/") == WSL_LIBRARIES for line in files.lines_or_empty(f"{folder}/{name}", root, 65536)):
            return printable_text(f"{folder}/{name}")
    return Missing(Cause.ABSENT, f"no file in {folder} mentions {WSL_LIBRARIES}")
