"""How WSL 2 uses the Windows driver, and whether a Linux driver interferes."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpudoctor.probe import files
from gpudoctor.probe.driver_files import release
from gpudoctor.snapshot import Cause, DriverFile, Missing, Wsl, readable

LIBRARIES = "/usr/lib/wsl/lib"
WINDOWS = "/usr/lib/wsl/"
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib")
PACKAGES = ("libnvidia-compute", "libcuda1", "nvidia-driver", "nvidia-kernel", "nvidia-dkms", "nvidia-utils", "xserver-xorg-video-nvidia")
NOT_DRIVER = ("nvidia-driver-assistant", "nvidia-kernel-common")
STATUS = "/var/lib/dpkg/status"


def wsl(root: str) -> Wsl:
    """The section for a machine that is WSL 2."""
    shown = files.names(files.under(root, LIBRARIES))
    return Wsl(
        device=os.path.exists(files.under(root, "/dev/dxg")),
        libraries=shown if isinstance(shown, Missing) else tuple(readable(name) for name in shown if ".so" in name),
        linux_driver=tuple(_linux_driver(root)),
        packages=_packages(root),
        loader_conf=_loader_conf(root),
        memory=_memory(root),
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
    """The packages in state installed, from the paragraphs of dpkg's status file."""
    text = files.read(files.under(root, STATUS), 64 << 20)
    if isinstance(text, Missing):
        return text
    found = []
    for beginning in PACKAGES:
        at = text.find(f"Package: {beginning}")
        while at >= 0:
            end = text.find("\n\n", at)
            paragraph = text[at : end if end >= 0 else len(text)]
            name = paragraph.partition("\n")[0].removeprefix("Package: ").strip()
            at_line_start = at == 0 or text[at - 1] == "\n"
            if at_line_start and "\nStatus: install ok installed" in paragraph and not name.startswith(NOT_DRIVER):
                found.append(name)
            at = text.find(f"Package: {beginning}", at + 1)
    return tuple(dict.fromkeys(found))


def _loader_conf(root: str) -> str | Missing:
    folder = "/etc/ld.so.conf.d"
    present = files.names(files.under(root, folder))
    if isinstance(present, Missing):
        return present
    for name in present:
        text = files.read(files.under(root, f"{folder}/{name}"), 65536)
        if isinstance(text, str) and any(line.strip().rstrip("/") == LIBRARIES for line in text.splitlines()):
            return readable(f"{folder}/{name}")
    return Missing(Cause.ABSENT, f"no file in {folder} mentions {LIBRARIES}")


def _memory(root: str) -> int | Missing:
    text = files.read(files.under(root, "/proc/meminfo"), 4096)
    if isinstance(text, Missing):
        return text
    words = next((line.split() for line in text.splitlines() if line.startswith("MemTotal:")), [])
    kib = files.whole_number(words[1] if len(words) > 1 else "", "/proc/meminfo")
    return kib if isinstance(kib, Missing) else kib << 10
