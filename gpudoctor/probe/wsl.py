"""How WSL 2 uses the Windows driver, and whether a Linux driver interferes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpudoctor.probe import files
from gpudoctor.probe.details import memory
from gpudoctor.probe.driver_files import release
from gpudoctor.probe.system_packages import dpkg_packages
from gpudoctor.snapshot import Cause, DriverFile, Missing, Wsl, readable

LIBRARIES = "/usr/lib/wsl/lib"
WINDOWS = "/usr/lib/wsl/"
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib")
PACKAGES = ("libnvidia-compute", "libcuda1", "nvidia-driver", "nvidia-kernel", "nvidia-dkms", "nvidia-utils", "xserver-xorg-video-nvidia")
NOT_DRIVER = ("nvidia-driver-assistant", "nvidia-kernel-common")


def wsl(root: str) -> Wsl:
    """The section for a machine that is WSL 2."""
    shown = files.names(LIBRARIES, root)
    return Wsl(
        device=files.exists("/dev/dxg", root),
        libraries=shown if isinstance(shown, Missing) else tuple(readable(name) for name in shown if ".so" in name),
        linux_driver=tuple(_linux_driver(root)),
        packages=_packages(root),
        loader_conf=_loader_conf(root),
        memory=memory(root).total,
    )


def _linux_driver(root: str) -> Iterator[DriverFile]:
    """Each libcuda.so.1 once, except those that stand in for the Windows driver's, as a container toolkit makes them."""
    base = os.path.realpath(files.under(root, "/"))
    seen = set()
    for folder in SYSTEM:
        real = os.path.realpath(files.under(root, f"{folder}/libcuda.so.1"))
        inside = real[len(base.rstrip("/")) :] if real.startswith(base) else real
        if os.path.isfile(real) and not inside.startswith(WINDOWS) and real not in seen:
            seen.add(real)
            yield DriverFile(readable(f"{folder}/libcuda.so.1"), release(real))


def _packages(root: str) -> tuple[str, ...] | Missing:
    """The installed packages of a Linux driver, by dpkg."""
    installed = dpkg_packages(root)
    if isinstance(installed, Missing):
        return installed
    return tuple(name for name, _ in installed if name.startswith(PACKAGES) and not name.startswith(NOT_DRIVER))


def _loader_conf(root: str) -> str | Missing:
    folder = "/etc/ld.so.conf.d"
    present = files.names(folder, root)
    if isinstance(present, Missing):
        return present
    for name in present:
        if any(line.strip().rstrip("/") == LIBRARIES for line in files.lines(f"{folder}/{name}", root, 65536)):
            return readable(f"{folder}/{name}")
    return Missing(Cause.ABSENT, f"no file in {folder} mentions {LIBRARIES}")
