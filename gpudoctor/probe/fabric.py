"""What sets up the NVSwitches of GPUs: the fabric manager, its version, and what else NVLink 5 needs."""

from __future__ import annotations

import os
import re

from gpudoctor.probe import files
from gpudoctor.probe.system_packages import DPKG, dpkg_packages
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
_RUNNING = r"(?i)Fabric Manager version(?: is)?:? *(\d+\.[\d.]*\d)"
_PACKAGED = r"(?:\d+:)?(\d+\.[\d.]*\d)"
"""The driver version in the version of a package, after its epoch."""
_COMPLAINT = r"(?mi)^.*(?:fail|error|mismatch|don't match|not match).*$"
_IN_A_CONTAINER = Missing(Cause.NOT_ASKED, "the host's services are not visible in a container; run gpudoctor on the host")


def switches(pci: Pci | Missing) -> bool:
    """Whether the PCI bus shows an NVSwitch: an NVIDIA bridge of class 0680."""
    return isinstance(pci, Pci) and any(device.is_nvswitch for device in pci.devices)


def attached(nvml: Nvml | Missing) -> bool:
    """Whether NVML reports a GPU as part of a fabric, even if its NVSwitches are not on this PCI bus."""
    gpus = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return any(isinstance(gpu.fabric, Fabric) and gpu.fabric.state != "not-supported" for gpu in gpus)


def fabric_manager(root: str, container: Container | Missing) -> FabricManager | Missing:
    """The service on a machine whose GPUs are part of a fabric."""
    inside = isinstance(container, Container)
    unit = _unit(root, UNIT)
    running = NOT_ASKED if inside else _running(root, UNIT, PROCESS)
    log = _tail(root)
    version = _version(root, log)
    if isinstance(unit, Missing) and running is not True and isinstance(version, Missing):
        return _IN_A_CONTAINER if inside else Missing(Cause.ABSENT, f"no {UNIT}")
    complaints = re.findall(_COMPLAINT, log)
    return FabricManager(
        running=running,
        unit=unit,
        enabled=os.path.lexists(files.under(root, f"{ENABLED}/{UNIT}")),
        version=version,
        complaint=readable(complaints[-1].strip())[:300] if complaints else Missing(Cause.ABSENT, f"no error in {LOG}"),
    )


def fabric_parts(root: str, container: Container | Missing) -> FabricParts | Missing:
    """What NVLink 5 needs beyond the service; a container sees none of it."""
    if isinstance(container, Container):
        return _IN_A_CONTAINER
    processes = _processes(root)
    return FabricParts(
        nvlsm=NVLSM if files.exists(NVLSM, root) else Missing(Cause.ABSENT, f"no {NVLSM}"),
        nvlsm_running=_running(root, "", "nvlsm", processes),
        umad=files.exists(UMAD, root),
        infiniband=_names(root, INFINIBAND),
        imex=_unit(root, IMEX),
        imex_running=_running(root, IMEX, "nvidia-imex", processes),
        imex_channels=_names(root, CHANNELS),
    )


def _unit(root: str, name: str) -> str | Missing:
    """The file that defines a service."""
    places = (f"{folder}/{name}" for folder in UNITS)
    return next((place for place in places if files.exists(place, root)), Missing(Cause.ABSENT, f"no {name} in {', '.join(UNITS)}"))


def _names(root: str, folder: str) -> tuple[str, ...] | Missing:
    names = files.names(folder, root)
    return names if isinstance(names, Missing) else tuple(readable(name) for name in names)


def _running(root: str, unit: str, process: str, processes: set[str] | Missing | None = None) -> bool | Missing:
    """Whether a service runs, by its control group or by a process of that name; `processes` if they are already known."""
    for folder in GROUPS if unit else ():
        if files.text(f"{folder}/{unit}/cgroup.procs", root, 4096).strip():
            return True
    names = _processes(root) if processes is None else processes
    return names if isinstance(names, Missing) else process in names


def _processes(root: str) -> set[str] | Missing:
    numbers = files.names("/proc", root)
    if isinstance(numbers, Missing):
        return numbers
    return {files.text(f"/proc/{number}/comm", root, 64).strip() for number in numbers if number.isdecimal()}


def _tail(root: str) -> str:
    """The last 64 KiB of the log; empty where it cannot be read."""
    kept = files.end(LOG, root, 64 << 10)
    return "" if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def _version(root: str, log: str) -> Fact | Missing:
    """The version that last started, by its own log; otherwise the package's."""
    started = re.findall(_RUNNING, log)
    if started:
        return Fact(started[-1], LOG)
    installed = dpkg_packages(root)
    for name, version in () if isinstance(installed, Missing) else installed:
        if name.startswith("nvidia-fabricmanager") and (packaged := re.match(_PACKAGED, version)):
            return Fact(packaged.group(1), DPKG)
    return Missing(Cause.ABSENT, f"neither {LOG} nor {DPKG} names its version")
