"""GD143: spare-rows-exhausted."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.gpu_facts import known, offered, replace
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind


@rule("GD143", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def spare_rows_exhausted(gpu: Gpu) -> Iterator[Problem]:
    """A bank of the GPU's memory has no spare rows left, or few.

    ## Why it matters
    Since Ampere a row of memory that had an uncorrectable error is replaced by a spare row of its bank. In a bank without spare rows the
    next such error cannot be repaired: remapping fails (Xid 64), and NVIDIA replaces the card. Few left are a sign that it is wearing out.

    ## What to do
    Plan the card's replacement where a bank has none left. Keep an eye on the histogram where a bank has few.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """
    rows = offered(known(gpu).spare_rows)
    if not rows.none and not rows.low:
        return
    banks, left = (rows.none, "no spare rows left") if rows.none else (rows.low, "few spare rows left")
    total = rows.max + rows.high + rows.partial + rows.low + rows.none
    histogram = f"all {rows.max}, many {rows.high}, some {rows.partial}, few {rows.low}, none {rows.none}"
    yield Problem(
        message=f"{gpu.label}: {banks} of {total} banks of its memory {'has' if banks == 1 else 'have'} {left}.",
        severity=None if rows.none else Severity.NOTE,
        evidence=(Evidence("banks by spare rows left", histogram, "nvmlDeviceGetRowRemapperHistogram"),),
        fixes=(
            Fix("Watch whether more rows are remapped", f"nvidia-smi -q -d ROW_REMAPPER -i {gpu.key}", kind=FixKind.CHECK),
            replace("Have the card replaced when a row cannot be remapped"),
        ),
    )
