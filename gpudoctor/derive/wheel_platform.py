"""The platform that a wheel must be built for, in the matrix's terms (linux_x86_64, win_amd64) and in PEP 508's."""

from __future__ import annotations

from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Host, Missing, Platform, Python

LINUX_X86_64 = "linux_x86_64"
ANY_PLATFORM = "any"
"""Of pure Python wheels, which fit every platform."""
_SYSTEMS = {
    Platform.LINUX: "linux",
    Platform.WSL1: "linux",
    Platform.WSL2: "linux",
    Platform.JETSON: "linux",
    Platform.WINDOWS: "win",
    Platform.MACOS: "macos",
}
_MACHINES = {
    "linux": {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"},
    "win": {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"},
    "macos": {"x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"},
}
_MARKERS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "win": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}
_LABELS = {"linux": "Linux", "win": "Windows", "macos": "macOS"}


def platform_name(host: Host | Missing, python: Python | Missing) -> str:
    """The platform in the matrix's terms; empty if system or architecture is unknown, or no wheels are published for it.

    The interpreter's architecture counts before the kernel's: a 32-bit Python on a 64-bit kernel takes 32-bit wheels.
    """
    system = _SYSTEMS.get(host.platform) if isinstance(host, Host) and isinstance(host.platform, Platform) else None
    own = python.machine if isinstance(python, Python) else ""
    machine = own if isinstance(own, str) and own else host.architecture if isinstance(host, Host) else ""
    if system == "win" and not isinstance(machine, str):
        machine = "amd64"  # NVIDIA has no Windows driver for other architectures
    if system is None or not isinstance(machine, str):
        return ""
    architecture = _MACHINES[system].get(machine.lower())
    return f"{system}_{architecture}" if architecture else ""


def is_unstated(host: Host | Missing) -> bool:
    """Return whether a text leaves open which platform it is about."""
    return isinstance(host, Missing) or isinstance(host.platform, Missing) or isinstance(host.architecture, Missing)


def has_wheel(row: FrameworkRelease, python: str) -> bool:
    """Return whether a release has a wheel for a Python, "3.14" or, without the GIL, "3.14t"; one for any platform needs no build of its own."""
    return not row.pythons or python in row.pythons or (row.platform == ANY_PLATFORM and python.rstrip("t") in row.pythons)


def platform_label(platform: str) -> str:
    """A platform in words: "Windows (amd64)"."""
    system, _, machine = platform.partition("_")
    return f"{_LABELS.get(system, system)} ({machine})" if machine else platform


def platform_markers(platform: str) -> dict[str, str]:
    """The environment markers of PEP 508 on a platform; missing ones are unknown."""
    system, _, machine = platform.partition("_")
    if system not in _MARKERS:
        return {}
    return {**_MARKERS[system], "platform_machine": machine.upper() if system == "win" else machine}


def python_markers(python: str) -> dict[str, str]:
    """The environment markers of an interpreter, "3.11" or "3.11.4"."""
    short = ".".join(python.rstrip("t").split(".")[:2])
    return {"python_version": short, "python_full_version": python if python.count(".") == 2 else f"{short}.0"}
