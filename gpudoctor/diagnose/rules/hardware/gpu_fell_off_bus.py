"""GD103: gpu-fell-off-bus."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder
from gpudoctor.derive.lost_gpus import lost_under_load, off_the_bus
from gpudoctor.diagnose.gpu_facts import as_evidence, logged, milder
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.hardware.hardware import _back
from gpudoctor.findings import Confidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, KernelLog, Missing

_FELL_OFF = 79
"""Xid: the GPU has fallen off the bus."""


@rule(
    "GD103",
    severity=Severity.ERROR,
    breaks=Rung.NVML,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "gpu-count-mismatch",
                "gpu-missing-from-cuda",
            ),
            "",
            Join.GPU,
        ),
        Explains(
            (
                "cuda-init-fails",
                "uvm-broken-after-suspend",
                "uvm-not-loaded",
                "nvlink-inactive",
                "all-reduce-failed",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_fell_off_bus(gpu: Gpu, log: KernelLog | Missing, ladder: Ladder) -> Iterator[Problem]:
    """GPU no longer answers on the PCI bus.

    ## Why it matters
    The driver had this GPU and lost it: reads from it return nothing but ones (Xid 79, "GPU has fallen off the bus"). It is gone for
    every program until the machine is power-cycled, and what ran on it is lost.

    A GPU can vanish while it is examined. One NVML call that answers "GPU is lost" (15) is enough, whatever the calls before it said;
    so is a PCI configuration space of ones, or the link width 63 that the kernel makes of it. CUDA then fails on the other
    GPUs too, mostly with error 999.

    ## What to do
    Power the machine off and on; a warm reboot is often not enough. If it happens again the cause is power, riser, slot, heat or
    the card: move the card to another slot, then replace it.

    ## References
    - https://docs.nvidia.com/deploy/xid-errors/
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    told = logged(gpu, log, _FELL_OFF)
    seen = off_the_bus(gpu)
    vanished = isinstance(gpu.nvml, Missing) and gpu.nvml.cause is Cause.ABSENT and bool(told)
    if not seen and not vanished:
        if isinstance(gpu.nvml, Missing):
            not_applicable("NVML does not list it")
        need(gpu.nvml.address, Rung.NVML)
        return
    several = len(seen) + len(told) > 1 or any(one.what.startswith("PCI") for one in seen)
    why = "; ".join(f"{one.what}: {one.value}" for one in seen) or "NVML no longer lists it, and the kernel logged Xid 79"
    yield Problem(
        message=f"{gpu.label} was lost while the driver had it ({why}).",
        severity=None if lost_under_load(gpu) else milder(ladder, gpu),
        confidence=Confidence.CERTAIN if several or vanished else Confidence.LIKELY,
        evidence=(*seen, *as_evidence(told, log)),
        fixes=_back(gpu),
    )
