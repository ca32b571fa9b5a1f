"""What sets up the NVSwitches of GPUs: the fabric manager, its version, and what else NVLink 5 needs."""

from __future__ import annotations

import os
import re

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Cause, Container, Fabric, FabricManager, FabricParts, Fact, Missing, Nvml, Pci, readable

UNIT = "nvidia-fabricmanager.service"
UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
ENABLED = "/etc/systemd/system/multi-user.target.wants"
GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
"""Where systemd keeps a service's processes, in control groups of versions 2 and 1."""
PROCESS = "nv-fabricmanager"[:15]
"""The kernel truncates a process name to fifteen characters."""
NVLSM = "/opt/nvidia/nvlsm/sbin/nvlsm"
"""Where NVIDIA's package installs the NVLink subnet manager."""
IMEX = "nvidia-imex.service"
CHANNELS = "/dev/nvidia-caps-imex-channels"
UMAD, INFINIBAND = "/sys/class/infiniband_mad", "/sys/class/infiniband"
LOG = "/var/log/fabricmanager.log"
DPKG = "/var/lib/dpkg/status"
_RUNNING = r"(?i)Fabric Manager version(?: is)?:? *(\d+\.[\d.]*\d)"
_PACKAGE = r"(?m)^Package: nvidia-fabricmanager[\w.-]*\n(?:(?!^$).*\n){0,60}?Version: (?:\d+:)?(\d+\.[\d.]*\d)"
_COMPLAINT = r"(?mi)^.*(?:fail|error|mismatch|don't match|not match).*$"


def switches(pci: Pci | Missing) -> bool:
    """Whether the PCI bus shows an NVSwitch: an NVIDIA bridge of class 0680."""
    return isinstance(pci, Pci) and any(device.is_nvswitch for device in pci.devices)


def attached(nvml: Nvml | Missing) -> bool:
    """Whether NVML reports a GPU as part of a fabric, even if its NVSwitches are not on this PCI bus."""
    gpus = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return any(isinstance(gpu.fabric, Fabric) and gpu.fabric.state != "not-supported" for gpu in gpus)


def fabric_manager(root: str, container: Container | Missing) -> FabricManager | Missing:
    """The service on a machine whose GPUs are part of a fabric."""
    unit = next((f"{folder}/{UNIT}" for folder in UNITS if os.path.exists(files.under(root, f"{folder}/{UNIT}"))), "")
    running = NOT_ASKED if isinstance(container, Container) else _running(root, UNIT, PROCESS)
    log = _tail(files.under(root, LOG))
    version = _version(root, log)
    if not unit and running is not True and isinstance(version, Missing):
        inside = isinstance(container, Container)
        return (
            Missing(Cause.NOT_ASKED, "the host's services are not visible in a container; run gpudoctor on the host")
            if inside
            else Missing(Cause.ABSENT, f"no {UNIT}")
        )
    complaints = re.findall(_COMPLAINT, log) if isinstance(log, str) else []
    return FabricManager(
        running=running,
        unit=unit or Missing(Cause.ABSENT, f"no {UNIT} in {', '.join(UNITS)}"),
        enabled=os.path.lexists(files.under(root, f"{ENABLED}/{UNIT}")),
        version=version,
        complaint=readable(complaints[-1].strip())[:300] if complaints else Missing(Cause.ABSENT, f"no error in {LOG}"),
    )


def fabric_parts(root: str, container: Container | Missing) -> FabricParts | Missing:
    """What NVLink 5 needs beyond the service; a container sees none of it."""
    if isinstance(container, Container):
        return Missing(Cause.NOT_ASKED, "the host's services are not visible in a container; run gpudoctor on the host")
    imex = next((f"{folder}/{IMEX}" for folder in UNITS if os.path.exists(files.under(root, f"{folder}/{IMEX}"))), "")
    there = os.path.exists(files.under(root, NVLSM))
    processes = _processes(root)
    return FabricParts(
        nvlsm=NVLSM if there else Missing(Cause.ABSENT, f"no {NVLSM}"),
        nvlsm_running=_running(root, "", "nvlsm", processes),
        umad=os.path.exists(files.under(root, UMAD)),
        infiniband=_names(root, INFINIBAND),
        imex=imex or Missing(Cause.ABSENT, f"no {IMEX} in {', '.join(UNITS)}"),
        imex_running=_running(root, IMEX, "nvidia-imex", processes),
        imex_channels=_names(root, CHANNELS),
    )


def _names(root: str, folder: str) -> tuple[str, ...] | Missing:
    names = files.names(files.under(root, folder))
    return names if isinstance(names, Missing) else tuple(readable(name) for name in names)


def _running(root: str, unit: str, process: str, processes: set[str] | Missing | None = None) -> bool | Missing:
    """Whether a service runs, by its control group or by a process of that name; `processes` if they are already known."""
    for folder in GROUPS if unit else ():
        members = files.read(files.under(root, f"{folder}/{unit}/cgroup.procs"), 4096)
        if isinstance(members, str) and members.strip():
            return True
    names = _processes(root) if processes is None else processes
    return names if isinstance(names, Missing) else process in names


def _processes(root: str) -> set[str] | Missing:
    numbers = files.names(files.under(root, "/proc"))
    if isinstance(numbers, Missing):
        return numbers
    names = (files.read(files.under(root, f"/proc/{number}/comm"), 64) for number in numbers if number.isdecimal())
    return {name.strip() for name in names if isinstance(name, str)}


def _tail(path: str) -> str | Missing:
    """The last 64 KiB of a log."""
    kept = files.end(path, 64 << 10)
    return kept if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def _version(root: str, log: str | Missing) -> Fact | Missing:
    """The version that last started, by its own log; otherwise the package's."""
    started = re.findall(_RUNNING, log) if isinstance(log, str) else []
    if started:
        return Fact(started[-1], LOG)
    status = files.read(files.under(root, DPKG), 32 << 20)
    packaged = re.search(_PACKAGE, status) if isinstance(status, str) else None
    return Fact(packaged.group(1), DPKG) if packaged else Missing(Cause.ABSENT, f"neither {LOG} nor {DPKG} names its version")
