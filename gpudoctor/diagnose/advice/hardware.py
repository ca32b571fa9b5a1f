"""Fixes and evidence for one GPU that several families share."""

from __future__ import annotations

from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.kernel_log import line_excerpt
from gpudoctor.diagnose.advice.system import ask_administrator, power_cycle, read_log
from gpudoctor.findings import REBOOT, ROOT, Action, Evidence, Fix, FixKind
from gpudoctor.snapshot import KernelLog

MIB, GIB = 1 << 20, 1 << 30
_RMA = "the vendor may ask for NVIDIA's field diagnostic or `dcgmi diag -r 3`"
SUSPECT_HARDWARE = Fix(
    "Move the GPU to another slot and replace its riser and power cables; then replace the GPU.",
    kind=FixKind.ELSE,
    action=Action.REPLACE_HARDWARE,
)


def last_xid(gpu: GpuView, *codes: int) -> tuple[Evidence, ...]:
    """Return the last Xid of these codes that the kernel logged for the GPU; empty where there is none."""
    log = gpu.machine.observed.kernel_log
    where = log.where if isinstance(log, KernelLog) else ""
    return tuple(Evidence(f"Xid {event.code}", line_excerpt(event.text), where) for event in gpu.xids(*codes)[-1:])


def reset_gpu(gpu: GpuView, first: str = "") -> Fix:
    """Return how to reset this GPU here; `first` replaces "Stop all processes on the GPU"."""
    if gpu.machine.site.container:
        return ask_administrator("Ask the host's administrator to reset the GPU; a container cannot.")
    return Fix(
        f"{first or 'Stop all processes on the GPU'} and reset it; if the reset is refused, reboot",
        f"sudo nvidia-smi --gpu-reset -i {gpu.selector}",
        action=Action.RESET_GPU,
    )


def replace_hardware(what: str = "Replace the GPU", kind: FixKind = FixKind.FIX) -> Fix:
    """Return the fix that has hardware repaired or replaced."""
    return Fix(f"{what}; {_RMA}.", needs=(ROOT, REBOOT), kind=kind, action=Action.REPLACE_HARDWARE)


def read_gpu_log(gpu: GpuView) -> Fix:
    """Return the check that shows the kernel log's lines about this GPU."""
    return read_log(f"NVRM|Xid|{gpu.key.removeprefix('0000:')}", "Read the kernel log for this GPU")


def recover_gpu(gpu: GpuView) -> tuple[Fix, ...]:
    """Return how a GPU that no longer answers usually comes back."""
    return read_gpu_log(gpu), power_cycle(), SUSPECT_HARDWARE


def undo_change(gpu: GpuView, command: str) -> tuple[Fix, ...]:
    """Return how to undo a change that is pending until a reset; empty in a container, which cannot."""
    return () if gpu.machine.site.container else (Fix("Undo the change", command, kind=FixKind.INSTEAD),)


def on_or_off(enabled: bool) -> str:  # noqa: FBT001 -- a setting, not an option
    """Return a setting in words."""
    return "on" if enabled else "off"
