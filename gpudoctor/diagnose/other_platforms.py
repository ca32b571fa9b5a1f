"""The causes of an error that a machine cannot have, by its platform: Linux, WSL, Jetson, Windows or macOS."""

from __future__ import annotations

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.platform_causes import causes_on_platform
from gpudoctor.diagnose.rules import FAMILY_OF
from gpudoctor.expressions import expression
from gpudoctor.snapshot import Platform, TextLog

_LINUX_DRIVER_CAUSES = frozenset(
    [
        "no-driver",
        "kernel-module-not-built",
        "nouveau-loaded",
        "nova-loaded",
        "secure-boot-unsigned-module",
        "vfio-bound",
        "uvm-not-loaded",
        "uvm-hmm-init-failure",
        "uvm-broken-after-suspend",
        "device-nodes-missing",
        "fabric-manager-missing",
        "persistence-mode-off",
    ]
)
"""Causes in the kernel driver for Linux, which WSL, Jetson, Windows and macOS do not have."""
_LINUX_CAUSES = frozenset(
    {"pip-nvidia-libs-not-on-path", "glibc-too-old", "libcuda-not-on-loader-path", "container-ldcache-stale", "mps-misconfigured"}
)
"""Causes in the loader, libraries and services of Linux, which WSL and Jetson have too; macOS means Metal by MPS."""
_LINUX_ACCESS_CAUSES = frozenset({"container-no-gpu-access", "libcuda-not-on-loader-path", "device-permission-denied"})
"""What stands between a program and a GPU that Linux could give it."""
WSL_CAUSES = frozenset(name for name in FAMILY_OF if name.startswith("wsl"))
_WINDOWS_CAUSES = frozenset({"no-driver"})
"""What can be wrong on Windows too."""
_ABOUT_CONTAINERS = expression(r"(?i)\b(?:docker|podman|container|kubernetes|k8s|pod)")
"""What on Windows runs Linux."""
_SINGLE_PLATFORM_CAUSES = {"windows-native-no-gpu": Platform.WINDOWS, "metal-plugin-missing": Platform.MACOS}
"""Causes of one platform alone."""


def causes_of_other_platforms(machine: MachineView) -> frozenset[str]:
    """Return the causes that this machine's platform cannot have."""
    known_platform = machine.site.platform in frozenset(Platform)
    away = {cause for cause, platform in _SINGLE_PLATFORM_CAUSES.items() if known_platform and machine.site.platform != platform}
    return _causes_by_platform(machine) | away


def _causes_by_platform(machine: MachineView) -> frozenset[str]:
    """Return the causes of other platforms. Text from inside WSL often looks like any Linux, so Linux excludes nothing without its kernel's release."""
    platform, kernel = machine.site.platform, machine.host.kernel
    if platform in {Platform.WSL1, Platform.WSL2}:
        return _LINUX_DRIVER_CAUSES
    if platform == Platform.WINDOWS:
        both = WSL_CAUSES if names_wsl(machine) else frozenset()  # Windows works, and a line is about WSL on it
        access = frozenset[str]() if machine.log.has_line_with(_ABOUT_CONTAINERS) or both else _LINUX_ACCESS_CAUSES
        return (_LINUX_DRIVER_CAUSES | _LINUX_CAUSES | WSL_CAUSES | access) - _WINDOWS_CAUSES - both
    if platform == Platform.MACOS and machine.hardware:
        return frozenset()  # no Mac of this decade has an NVIDIA GPU: the text also names the machine that it was written on
    if platform in {Platform.JETSON, Platform.MACOS}:
        own = _LINUX_CAUSES | _LINUX_ACCESS_CAUSES if platform == Platform.MACOS and not machine.site.container else frozenset[str]()
        return _LINUX_DRIVER_CAUSES | WSL_CAUSES | own
    return WSL_CAUSES if isinstance(kernel, str) and "microsoft" not in kernel.lower() else frozenset()


def names_wsl(machine: MachineView) -> bool:
    """Return whether a line of the log is about WSL."""
    log = machine.observed.text_log
    return isinstance(log, TextLog) and bool(causes_on_platform(("no-driver",), machine, log).keys() & WSL_CAUSES)
