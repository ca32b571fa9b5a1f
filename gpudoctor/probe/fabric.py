"""What sets up the NVSwitches of GPUs: the fabric manager, its version, and what else NVLink 5 needs."""

from __future__ import annotations

import os
import re

from gpudoctor.probe import files
from gpudoctor.probe.system_packages import DPKG_STATUS, dpkg_packages
from gpudoctor.snapshot import NOT_ASKED, Cause, Container, Fabric, FabricManager, FabricParts, Fact, Missing, Nvml, Pci, printable_text

FABRIC_MANAGER_UNIT = "nvidia-fabricmanager.service"
UNIT_FOLDERS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
ENABLED_FOLDER = "/etc/systemd/system/multi-user.target.wants"
CGROUP_FOLDERS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
"""Where systemd keeps a service's processes, in control groups of versions 2 and 1."""
FABRIC_MANAGER_PROCESS = "nv-fabricmanager"[:15]
"""The kernel truncates a process name to fifteen characters."""
NVLSM_PROGRAM = "/opt/nvidia/nvlsm/sbin/nvlsm"
"""Where NVIDIA's package installs the NVLink subnet manager."""
IMEX_UNIT = "nvidia-imex.service"
IMEX_CHANNELS = "/dev/nvidia-caps-imex-channels"
UMAD_FOLDER, INFINIBAND_FOLDER = "/sys/class/infiniband_mad", "/sys/class/infiniband"
FABRIC_MANAGER_LOG = "/var/log/fabricmanager.log"
_VERSION_IN_LOG = r"(?i)Fabric Manager version(?: is)?:? *(\d+\.[\d.]*\d)"
_PACKAGE_VERSION = r"(?:\d+:)?(\d+\.[\d.]*\d)"
"""The driver version in the version of a package, after its epoch."""
_COMPLAINT_LINE = r"(?mi)^.*(?:fail|error|mismatch|don't match|not match).*$"
_IN_A_CONTAINER = Missing(Cause.NOT_ASKED, "the host's services are not visible in a container; run gpudoctor on the host")


def has_nvswitch(pci: Pci | Missing) -> bool:
    """Whether the PCI bus shows an NVSwitch: an NVIDIA bridge of class 0680."""
    return isinstance(pci, Pci) and any(device.is_nvswitch for device in pci.devices)


def has_fabric_gpu(nvml: Nvml | Missing) -> bool:
    """Whether NVML reports a GPU as part of a fabric, even if its NVSwitches are not on this PCI bus."""
    gpus = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
    return any(isinstance(gpu.fabric, Fabric) and gpu.fabric.state != "not-supported" for gpu in gpus)


def fabric_manager(root: str, container: Container | Missing) -> FabricManager | Missing:
    """The service on a machine whose GPUs are part of a fabric."""
    inside = isinstance(container, Container)
    unit = _unit_file(root, FABRIC_MANAGER_UNIT)
    running = NOT_ASKED if inside else _is_running(root, FABRIC_MANAGER_UNIT, FABRIC_MANAGER_PROCESS)
    log = _log_tail(root)
    version = _fabric_manager_version(root, log)
    if isinstance(unit, Missing) and running is not True and isinstance(version, Missing):
        return _IN_A_CONTAINER if inside else Missing(Cause.ABSENT, f"no {FABRIC_MANAGER_UNIT}")
    complaints = re.findall(_COMPLAINT_LINE, log)
    return FabricManager(
        running=running,
        unit=unit,
        enabled=os.path.lexists(files.path_in_tree(root, f"{ENABLED_FOLDER}/{FABRIC_MANAGER_UNIT}")),
        version=version,
        complaint=printable_text(complaints[-1].strip())[:300]
        if complaints
        else Missing(Cause.ABSENT, f"no error in {FABRIC_MANAGER_LOG}"),
    )


def fabric_parts(root: str, container: Container | Missing) -> FabricParts | Missing:
    """What NVLink 5 needs beyond the service; a container sees none of it."""
    if isinstance(container, Container):
        return _IN_A_CONTAINER
    processes = _process_names(root)
    return FabricParts(
        nvlsm=NVLSM_PROGRAM if files.exists(NVLSM_PROGRAM, root) else Missing(Cause.ABSENT, f"no {NVLSM_PROGRAM}"),
        nvlsm_running=_is_running(root, "", "nvlsm", processes),
        umad=files.exists(UMAD_FOLDER, root),
        infiniband=_folder_names(root, INFINIBAND_FOLDER),
        imex=_unit_file(root, IMEX_UNIT),
        imex_running=_is_running(root, IMEX_UNIT, "nvidia-imex", processes),
        imex_channels=_folder_names(root, IMEX_CHANNELS),
    )


def _unit_file(root: str, name: str) -> str | Missing:
    """The file that defines a service."""
    places = (f"{folder}/{name}" for folder in UNIT_FOLDERS)
    return next((place for place in places if files.exists(place, root)), Missing(Cause.ABSENT, f"no {name} in {', '.join(UNIT_FOLDERS)}"))


def _folder_names(root: str, folder: str) -> tuple[str, ...] | Missing:
    names = files.list_folder(folder, root)
    return names if isinstance(names, Missing) else tuple(printable_text(name) for name in names)


def _is_running(root: str, unit: str, process: str, processes: set[str] | Missing | None = None) -> bool | Missing:
    """Whether a service runs, by its control group or by a process of that name; `processes` if they are already known."""
    for folder in CGROUP_FOLDERS if unit else ():
        if files.text_or_empty(f"{folder}/{unit}/cgroup.procs", root, 4096).strip():
            return True
    names = _process_names(root) if processes is None else processes
    return names if isinstance(names, Missing) else process in names


def _process_names(root: str) -> set[str] | Missing:
    numbers = files.list_folder("/proc", root)
    if isinstance(numbers, Missing):
        return numbers
    return {files.text_or_empty(f"/proc/{number}/comm", root, 64).strip() for number in numbers if number.isdecimal()}


def _log_tail(root: str) -> str:
    """The last 64 KiB of the log; empty where it cannot be read."""
    kept = files.read_last_bytes(FABRIC_MANAGER_LOG, root, 64 << 10)
    return "" if isinstance(kept, Missing) else kept.decode("utf-8", "backslashreplace")


def _fabric_manager_version(root: str, log: str) -> Fact | Missing:
    """The version that last started, by its own log; otherwise the package's."""
    started = re.findall(_VERSION_IN_LOG, log)
    if started:
        return Fact(started[-1], FABRIC_MANAGER_LOG)
    installed = dpkg_packages(root)
    for name, version in () if isinstance(installed, Missing) else installed:
        if name.startswith("nvidia-fabricmanager") and (packaged := re.match(_PACKAGE_VERSION, version)):
            return Fact(packaged.group(1), DPKG_STATUS)
    return Missing(Cause.ABSENT, f"neither {FABRIC_MANAGER_LOG} nor {DPKG_STATUS} names its version")
