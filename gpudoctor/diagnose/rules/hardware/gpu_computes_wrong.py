from gpudoctor.derive import GpuView
from gpudoctor.derive.visibility import MASK_VARIABLE
from gpudoctor.diagnose.advice.hardware import replace_hardware
from gpudoctor.diagnose.advice.system import ask_administrator, set_variable
from gpudoctor.diagnose.rule import TRAINING_FAILS, explains, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Problems, Rung, Severity


@rule("GD117", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, predicts=False, seen_at=Level.TOUCH)
@explains(
    ("smoke-wrong-result", "smoke-did-not-learn", "smoke-loss-not-finite", "all-reduce-failed"),
    "Wrong bits spread to every result computed from them.",
)
@explains(TRAINING_FAILS, "Wrong addresses and loop counters crash or hang a program.")
def gpu_computes_wrong(gpu: GpuView) -> Problems:
    """GPU returns wrong results for integer arithmetic."""
    if gpu.kernel_right:
        return
    context = gpu.context
    first = context.first_wrong if isinstance(context.first_wrong, str) else ""
    wrong = f"{context.wrong} of {context.elements}"
    yield Problem(
        message=f"{gpu.label} computed {wrong} integers wrong in gpudoctor's test kernel{f': {first}' if first else ''}.",
        evidence=(
            Evidence("wrong results", wrong, "gpudoctor's kernel"),
            *((Evidence("first wrong result", first, "gpudoctor's kernel"),) if first else ()),
        ),
        fixes=(
            Fix("Look for memory errors", f"nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER -i {gpu.selector}", kind=FixKind.CHECK),
            _train_on_others(gpu),
            Fix("Confirm the fault with DCGM's diagnostics", "sudo dcgmi diag -r 3", kind=FixKind.CHECK),
            replace_hardware(kind=FixKind.ELSE),
        ),
    )


def _train_on_others(gpu: GpuView) -> Fix:
    """Return the fix that trains on the other GPUs; if there is none, the one that removes overclocking."""
    others = [device for device in gpu.machine.cuda_devices if device.address != gpu.key]
    if others:
        left = ",".join(device.uuid if isinstance(device.uuid, str) else str(device.ordinal) for device in others)
        return set_variable(MASK_VARIABLE, left, "Train on the other GPUs")
    if gpu.machine.site.container:
        return ask_administrator("Ask the host's administrator to remove overclocking and to reset locked clocks.")
    return Fix(
        "Remove overclocking and undervolting, and reset locked clocks",
        f"sudo nvidia-smi -i {gpu.selector} -rgc; sudo nvidia-smi -i {gpu.selector} -rmc",
    )
