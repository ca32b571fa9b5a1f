"""GD205: driver-hung."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.diagnose.advice.system import read_log, reboot
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Problem, Rung, Severity
from gpudoctor.snapshot import Cause, CudaContext, Hang, Libcuda, Missing, Nvml, Snapshot

HANG_SECONDS = 30
"""A call that has not returned after this long is hung; less is only slow, as on eight cards without persistence mode."""


@rule(
    "GD205",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "gpu-count-mismatch",
                "all-reduce-failed",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def driver_hung(nvml: Nvml | Missing, libcuda: Libcuda | Missing, snapshot: Snapshot) -> Iterator[Problem]:
    """A call into the driver does not return.

    ## Why it matters
    The driver waits for a GPU, or for itself. Every program that calls it will wait too, and a process in an uninterruptible call
    (state D) cannot even be killed.

    ## What to do
    Reboot; a hung driver does not recover. Before that, save the kernel's log, which mostly names the GPU (Xid 79, 119, 120): if it
    hangs again on the same one, the card or its slot is at fault.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    unseen = [section for section in (nvml, libcuda) if isinstance(section, Missing) and section.cause is not Cause.ABSENT]
    contexts = () if isinstance(snapshot.contexts, Missing) else snapshot.contexts
    for name, section in (("NVML", nvml), ("libcuda", libcuda), *(("libcuda", context) for context in contexts)):
        hang = section.hang if isinstance(section, Nvml | Libcuda | CudaContext) else None
        if not isinstance(hang, Hang) or not (hang.uninterruptible or hang.seconds >= HANG_SECONDS):
            continue
        state = " and cannot be killed (state D)" if hang.uninterruptible else ""
        yield Problem(
            message=f"{name} does not return from {hang.call}: no sign of life for {hang.seconds:.0f} s{state}.",
            evidence=(Evidence("call that hangs", hang.call, name), *_stuck(snapshot)),
            fixes=(read_log("NVRM|Xid|blocked for more than", "Save the kernel log, which mostly names the GPU"), reboot()),
        )
    for section in unseen:
        need(section, Rung.NVML)


def _stuck(snapshot: Snapshot) -> tuple[Evidence, ...]:
    """The processes that nobody can end."""
    stuck = snapshot.stuck if isinstance(snapshot.stuck, tuple) else ()
    return tuple(
        Evidence(
            "in state D", f"{one.name} (process {one.pid})" + (f" in {one.waits_in}" if isinstance(one.waits_in, str) else ""), "/proc"
        )
        for one in stuck[:5]
    )
