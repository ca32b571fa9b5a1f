"""The fabric manager, which sets up the NVSwitches of a machine: is it installed, does it run, of which version is it."""

from __future__ import annotations

import os
import re

from gpudoctor.probe import files
from gpudoctor.snapshot import NOT_ASKED, Cause, Container, FabricManager, Fact, Missing, Pci, readable

UNIT = "nvidia-fabricmanager.service"
UNITS = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
ENABLED = "/etc/systemd/system/multi-user.target.wants"
GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
"""Where systemd keeps a service's processes, in control groups of version 2 and 1."""
PROCESS = "nv-fabricmanager"[:15]
"""The kernel keeps fifteen letters of a name."""
LOG = "/var/log/fabricmanager.log"
DPKG = "/var/lib/dpkg/status"
_RUNNING = r"(?i)Fabric Manager version(?: is)?:? *(\d+\.[\d.]*\d)"
_PACKAGE = r"(?m)^Package: nvidia-fabricmanager[\w.-]*\n(?:(?!^$).*\n)*?Version: (?:\d+:)?(\d+\.[\d.]*\d)"
_COMPLAINT = r"(?mi)^.*(?:fail|error|mismatch|don't match|not match).*$"


def switches(pci: Pci | Missing) -> bool:
    """Whether the PCI bus shows an NVSwitch: an NVIDIA bridge of class 0680."""
    return isinstance(pci, Pci) and any(device.vendor == "10de" and device.class_code.startswith("0680") for device in pci.devices)


def fabric_manager(root: str, pci: Pci | Missing, container: Container | Missing) -> FabricManager | Missing:
    """The service, on a machine with NVSwitches."""
    if not switches(pci):
        return NOT_ASKED
    unit = next((f"{folder}/{UNIT}" for folder in UNITS if os.path.exists(files.under(root, f"{folder}/{UNIT}"))), "")
    running = NOT_ASKED if isinstance(container, Container) else _running(root)
    log = _tail(files.under(root, LOG))
    version = _version(root, log)
    if not unit and running is not True and isinstance(version, Missing):
        inside = isinstance(container, Container)
        return Missing(Cause.NOT_ASKED, "a container does not show the host's services") if inside else Missing(Cause.ABSENT, f"no {UNIT}")
    complaints = re.findall(_COMPLAINT, log) if isinstance(log, str) else []
    return FabricManager(
        running=running,
        unit=unit or Missing(Cause.ABSENT, f"no {UNIT} in {', '.join(UNITS)}"),
        enabled=os.path.lexists(files.under(root, f"{ENABLED}/{UNIT}")),
        version=version,
        complaint=readable(complaints[-1].strip())[:300] if complaints else Missing(Cause.ABSENT, f"{LOG} holds none"),
    )


def _running(root: str) -> bool | Missing:
    for folder in GROUPS:
        members = files.read(files.under(root, f"{folder}/{UNIT}/cgroup.procs"), 4096)
        if isinstance(members, str) and members.strip():
            return True
    processes = files.names(files.under(root, "/proc"))
    if isinstance(processes, Missing):
        return processes
    names = (files.read(files.under(root, f"/proc/{process}/comm"), 64) for process in processes if process.isdecimal())
    return any(isinstance(name, str) and name.strip() == PROCESS for name in names)


def _tail(path: str) -> str | Missing:
    """The last 64 KiB of a log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - (64 << 10)))
            return file.read().decode("utf-8", "backslashreplace")
    except OSError as error:
        return files.missing(path, error)


def _version(root: str, log: str | Missing) -> Fact | Missing:
    """The release that last started, by its own log; else the package's."""
    started = re.findall(_RUNNING, log) if isinstance(log, str) else []
    if started:
        return Fact(started[-1], LOG)
    status = files.read(files.under(root, DPKG), 32 << 20)
    packaged = re.search(_PACKAGE, status) if isinstance(status, str) else None
    return Fact(packaged.group(1), DPKG) if packaged else Missing(Cause.ABSENT, f"neither {LOG} nor {DPKG} says it")
