"""Fixes for one GPU, and the evidence about it that several families show."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.advice.system import power_cycle, read_log
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.snapshot import KernelLog

MIB, GIB = 1 << 20, 1 << 30
_WARRANTY = "NVIDIA's field diagnostic or `dcgmi diag -r 3` gives the evidence for a warranty claim"
_SUSPECT_HARDWARE = Fix("Move the card to another slot, replace riser and power cables; then replace the card.", kind=FixKind.ELSE)


def last_xid(gpu: GpuView, *codes: int) -> tuple[Evidence, ...]:
    """The last Xid of these codes that the kernel logged for the GPU, as evidence; empty where there is none."""
    log = gpu.machine.observed.kernel_log
    where = log.where if isinstance(log, KernelLog) else ""
    return tuple(Evidence(f"Xid {event.code}", event.text[:120], where) for event in gpu.xids(*codes)[-1:])


def reset(gpu: GpuView) -> Fix:
    """How to reset this GPU here."""
    if gpu.machine.site.container:
        return Fix("Have the host's administrator reset the GPU; a container cannot.")
    return Fix(
        "Stop everything that runs on the GPU and reset it (with NVSwitches: all GPUs at once, without -i); "
        "reboot where a reset is not supported",
        f"sudo nvidia-smi --gpu-reset -i {gpu.key}",
        (ROOT,),
    )


def replace(what: str = "Replace the card", kind: FixKind = FixKind.FIX) -> Fix:
    """Hardware that has to be repaired or replaced."""
    return Fix(f"{what}; {_WARRANTY}.", needs=(ROOT, REBOOT), kind=kind)


def read_gpu_log(gpu: GpuView) -> Fix:
    """The kernel log's lines about this GPU."""
    return read_log(f"NVRM|Xid|{gpu.key.removeprefix('0000:')}", "Read the kernel log about this GPU")


def bring_back(gpu: GpuView) -> tuple[Fix, ...]:
    """How a GPU that no longer answers usually comes back, after its kernel log is read."""
    return read_gpu_log(gpu), power_cycle(), _SUSPECT_HARDWARE


def undo_change(gpu: GpuView, command: str) -> tuple[Fix, ...]:
    """How to undo a change that waits for a reset; nothing in a container, which cannot."""
    return () if gpu.machine.site.container else (Fix("Undo the change", command, (ROOT,), kind=FixKind.INSTEAD),)


def on_or_off(enabled: bool) -> str:  # noqa: FBT001 -- a setting, not an option
    """A setting in words."""
    return "on" if enabled else "off"
