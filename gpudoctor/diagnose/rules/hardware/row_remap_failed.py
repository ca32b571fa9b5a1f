"""GD106: row-remap-failed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, offered, replace
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, Missing


@rule(
    "GD106",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "row-remap-pending",
                "spare-rows-exhausted",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def row_remap_failed(gpu: Gpu, log: KernelLog | Missing) -> Iterator[Problem]:
    """A bad row of the GPU's memory could not be replaced by a spare one.

    ## Why it matters
    The spare rows of that part of the memory are used up, or the replacement itself failed (Xid 64). The bad row stays in use: programs
    end sooner or later with an uncorrectable error, and a reset does not help.

    ## What to do
    Take the card out of service and have it replaced: this is NVIDIA's own criterion for it.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """
    rows = offered(known(gpu).remapped_rows)
    if rows.failed:
        yield Problem(
            message=f"{gpu.label}: replacing a bad row of its memory failed ({rows.correctable + rows.uncorrectable} were replaced before).",
            evidence=(Evidence("row remapping failed", "yes", "nvmlDeviceGetRemappedRows"), *as_evidence(logged(gpu, log, 64), log)),
            fixes=(replace("Have the card replaced"),),
        )
