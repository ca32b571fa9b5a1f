"""GD117: gpu-computes-wrong."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import GpuView
from gpudoctor.derive.visibility import VARIABLE
from gpudoctor.diagnose.advice.hardware import replace
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.advice.system import set_variable
from gpudoctor.diagnose.rule import Explains, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity


@rule(
    "GD117",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    predicts=False,
    seen_at=Level.TOUCH,
    explains=(
        Explains(
            ("smoke-wrong-result", "smoke-did-not-learn", "smoke-loss-not-finite", "all-reduce-failed"),
            "Wrong bits spread through every number that is computed from them.",
        ),
        Explains(TRAINING_FAILS, "Wrong addresses and loop counters crash a program, make it hang or make it give up the GPU."),
    ),
)
def gpu_computes_wrong(gpu: GpuView) -> Iterator[Problem]:
    """GPU computed wrong integers."""
    if gpu.kernel_right:
        return
    context = gpu.context
    first = context.first_wrong if isinstance(context.first_wrong, str) else "not known which"
    wrong = f"{context.wrong} of {context.elements}"
    yield Problem(
        message=f"{gpu.label}: {wrong} results of a small kernel {'is' if context.wrong == 1 else 'are'} wrong, the first: {first}.",
        evidence=(
            Evidence("wrong results", wrong, "gpudoctor's kernel"),
            Evidence("the first", first, "gpudoctor's kernel"),
        ),
        fixes=(
            Fix("Check for memory errors", f"nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER -i {gpu.key}", kind=FixKind.CHECK),
            _avoid(gpu),
            Fix("Confirm it with NVIDIA's diagnostics", "sudo dcgmi diag -r 3", (ROOT,), kind=FixKind.CHECK),
            replace(kind=FixKind.ELSE),
        ),
    )


def _avoid(gpu: GpuView) -> Fix:
    """Train on the other GPUs; where there is none, set this one to its default clocks."""
    others = [device for device in gpu.machine.cuda_devices if device.address != gpu.key]
    if others:
        left = ",".join(device.uuid if isinstance(device.uuid, str) else str(device.ordinal) for device in others)
        return set_variable(VARIABLE, left, "Train on the other GPUs only")
    return Fix(
        "Undo overclocking: set the default clocks", f"sudo nvidia-smi -i {gpu.key} -rgc; sudo nvidia-smi -i {gpu.key} -rmc", (ROOT,)
    )
