from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import replace_hardware
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural


@rule("GD143", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
def spare_rows_exhausted(gpu: GpuView) -> Problems:
    """GPU memory bank has few or no spare rows left."""
    rows = gpu.spare_rows
    if not rows.none and not rows.low:
        return
    banks, left = (rows.none, "no") if rows.none else (rows.low, "few")
    total = rows.max + rows.high + rows.partial + rows.low + rows.none
    histogram = f"Max {rows.max}, High {rows.high}, Partial {rows.partial}, Low {rows.low}, None {rows.none}"
    yield Problem(
        message=f"{gpu.label}: {banks} of {total} memory banks {singular_or_plural(banks, 'has', 'have')} {left} spare rows left.",
        severity=None if rows.none else Severity.NOTE,
        evidence=(Evidence("banks by remap availability", histogram, "nvmlDeviceGetRowRemapperHistogram"),),
        fixes=(
            Fix("Watch the number of remapped rows", f"nvidia-smi -q -d ROW_REMAPPER -i {gpu.selector}", kind=FixKind.CHECK),
            replace_hardware("Plan to replace the GPU; replace it when a remap fails"),
        ),
    )
