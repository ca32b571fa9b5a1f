"""Everything on the kernel side beyond the loaded driver, and what is only read when something is wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.crash_guard import result_or_gap
from gpudoctor.probe.fabric import fabric_manager, fabric_parts, has_fabric_gpu, has_nvswitch
from gpudoctor.probe.kernel_log import kernel_log, log_from_journal
from gpudoctor.probe.kernel_modules import kernel_modules
from gpudoctor.probe.toolkits import program_on_path
from gpudoctor.process import Supervisor
from gpudoctor.snapshot import (
    NOT_ASKED,
    Amd,
    Cause,
    Host,
    KernelDriver,
    Libcuda,
    Missing,
    Nvml,
    Snapshot,
    Status,
    StuckProcess,
    printable_text,
)

KFD_FOLDER = "/sys/class/kfd/kfd/topology/nodes"
SECONDS_BETWEEN_LOOKS = 0.3
"""Seconds; a process in state D for longer is not just waiting for a disk."""


def with_kernel_side(seen: Snapshot, root: str) -> Snapshot:
    """`seen`, with host, container, PCI bus and kernel driver known, plus modules, kernel log, fabric manager and AMD's driver."""
    return msgspec.structs.replace(
        seen,
        kernel_modules=result_or_gap(
            kernel_modules, root, seen.host.kernel if isinstance(seen.host, Host) else seen.host, loaded=_is_driver_loaded(seen)
        ),
        kernel_log=result_or_gap(kernel_log, root),
        fabric_manager=result_or_gap(fabric_manager, root, seen.container) if has_nvswitch(seen.pci) else NOT_ASKED,
        amd=result_or_gap(amd_gpus, root),
    )


def _is_driver_loaded(seen: Snapshot) -> bool:
    return isinstance(seen.kernel_driver, KernelDriver) and not isinstance(seen.kernel_driver.version, Missing)


def amd_gpus(root: str) -> tuple[Amd, ...] | Missing:
    """The GPUs of ROCm's kernel driver: gfx_target_version 100300 is gfx1030, 90010 is gfx90a."""
    nodes = files.list_folder(KFD_FOLDER, root)
    if isinstance(nodes, Missing):
        return nodes
    found = []
    for node in nodes:
        rows = dict(line.split(" ", 1) for line in files.lines_or_empty(f"{KFD_FOLDER}/{node}/properties", root, 8192) if " " in line)
        number = rows.get("gfx_target_version", "").strip()
        if number.isdecimal() and len(number) < 10 and number != "0":  # 0 is a CPU
            version = int(number)
            found.append(Amd(target=f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"))
    return tuple(found)


def with_late_kernel_facts(whole: Snapshot, root: str, supervisor: Supervisor) -> Snapshot:
    """`whole` with what depends on the driver's answers: fabric services, journal, stuck processes."""
    changes: dict[str, object] = {}
    closed = isinstance(whole.kernel_log, Missing) and whole.kernel_log.cause in {Cause.DENIED, Cause.ABSENT}
    if files.is_live(root) and closed and _has_driver_error(whole):
        changes["kernel_log"] = result_or_gap(log_from_journal, supervisor, program_on_path("/", "journalctl", os.environ))
    if any(isinstance(section, Nvml | Libcuda) and not isinstance(section.hang, Missing) for section in (whole.nvml, whole.libcuda)):
        changes["stuck"] = result_or_gap(stuck_processes, root)
    if has_fabric_gpu(whole.nvml):
        changes["fabric_parts"] = result_or_gap(fabric_parts, root, whole.container)
        if not has_nvswitch(whole.pci):
            changes["fabric_manager"] = result_or_gap(fabric_manager, root, whole.container)
    return msgspec.structs.replace(whole, **changes)


def _has_driver_error(whole: Snapshot) -> bool:
    """Whether a driver library reported an error, or cannot open a GPU that it counts."""
    sections = [section for section in (whole.nvml, whole.libcuda) if not isinstance(section, Missing)]
    if any(isinstance(section.init, Status) and section.init.code for section in sections):
        return True
    gpus = whole.nvml.gpus if isinstance(whole.nvml, Nvml) else ()
    return not isinstance(gpus, Missing) and any(isinstance(gpu.address, Missing) for gpu in gpus)


def stuck_processes(root: str) -> tuple[StuckProcess, ...] | Missing:
    """The processes that are in state D at two looks."""
    processes = files.list_folder("/proc", root)
    if isinstance(processes, Missing):
        return processes
    first = dict(_uninterruptible_processes(root, processes))
    time.sleep(SECONDS_BETWEEN_LOOKS if first else 0)
    return tuple(
        StuckProcess(pid=pid, name=printable_text(name), waits_in=_wait_channel(root, pid))
        for pid, name in _uninterruptible_processes(root, [str(pid) for pid in first])
        if first[pid] == name
    )


def _uninterruptible_processes(root: str, processes: list[str]) -> Iterator[tuple[int, str]]:
    """Pid and name; the state follows the name, which is in parentheses and may contain any character (proc_pid_stat(5))."""
    for process in processes:
        if process.isdecimal():
            head, _, tail = files.text_or_empty(f"/proc/{process}/stat", root, 4096).rpartition(")")
            if tail.strip().startswith("D"):
                yield int(process), head.partition("(")[2]


def _wait_channel(root: str, pid: int) -> str | Missing:
    path = f"/proc/{pid}/wchan"
    text = files.read_text(path, root, 256)
    if isinstance(text, str) and text.strip() not in {"", "0"}:
        return text.strip()
    return text if isinstance(text, Missing) else Missing(Cause.DENIED, f"{path} hides it from this user")
