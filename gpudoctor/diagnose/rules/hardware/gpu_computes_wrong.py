"""GD117: gpu-computes-wrong."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import replace
from gpudoctor.diagnose.rule import Explains, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.state.masks import _devices
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import CudaContext, Snapshot


@rule(
    "GD117",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    seen_at=Level.TOUCH,
    explains=(
        Explains(
            (
                "smoke-wrong-result",
                "smoke-did-not-learn",
                "smoke-loss-not-finite",
                "all-reduce-failed",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def gpu_computes_wrong(gpu: Gpu, context: CudaContext, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU computed wrong integers.

    ## Why it matters
    A small kernel of ours mixes the bits of some thousand integers, and every result is known beforehand. Integer arithmetic has no
    rounding: one wrong bit is a defect of the GPU, its memory, its power supply, or of the driver's compiler.

    ## What to do
    Do not train on this GPU. Take back overclocking and undervolting, run NVIDIA's diagnostics, look at the ECC counters and the
    kernel's log, and have the card replaced if it happens again.

    ## References
    - https://docs.nvidia.com/datacenter/dcgm/latest/user-guide/dcgm-diagnostics.html
    """
    if need(context.kernel_right, Rung.KERNEL_RAN):
        return
    first = context.first_wrong if isinstance(context.first_wrong, str) else "not known which"
    yield Problem(
        message=f"{gpu.label}: {context.wrong} of {context.elements} results of a small kernel are wrong, the first: {first}.",
        evidence=(
            Evidence("wrong results", f"{context.wrong} of {context.elements}", "our own kernel"),
            Evidence("the first", first, "our own kernel"),
        ),
        fixes=(
            Fix("Look for memory errors", f"nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER -i {gpu.key}", kind=FixKind.CHECK),
            *_take_out(gpu, snapshot),
            Fix("Confirm it with NVIDIA's diagnostics", "sudo dcgmi diag -r 3", (ROOT,), kind=FixKind.CHECK),
            replace("Replace the card", FixKind.ELSE),
        ),
    )


def _take_out(gpu: Gpu, snapshot: Snapshot) -> tuple[Fix, ...]:
    """Train on the others; the only one is set to the clocks that it was built for."""
    others = [one for one in _devices(snapshot) if one.address != gpu.key]
    if others:
        left = ",".join(one.uuid if isinstance(one.uuid, str) else str(one.ordinal) for one in others)
        return (Fix("Train on the other GPUs only", f"export {VARIABLE}={left}"),)
    return (
        Fix("Undo overclocking: set the default clocks", f"sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rmc", (ROOT,)),
    )
