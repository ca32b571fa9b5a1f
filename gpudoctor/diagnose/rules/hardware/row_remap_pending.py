"""GD105: row-remap-pending."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, offered, reset
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, Missing


@rule("GD105", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def row_remap_pending(gpu: Gpu, log: KernelLog | Missing, site: Site) -> Iterator[Problem]:
    """A bad row of the GPU's memory waits for a reset to be replaced by a spare one.

    ## Why it matters
    The GPU met an error in a row of its memory and has a spare row for it, which is put in its place at the next reset. Until then the
    bad row stays in use or its page is fenced off, and a program that meets it ends.

    ## What to do
    Reset the GPU, or reboot, when nothing runs on it.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """
    rows = offered(known(gpu).remapped_rows)
    if rows.pending:
        yield Problem(
            message=f"{gpu.label}: a row of its memory is to be replaced at the next reset.",
            evidence=(Evidence("row remapping pending", "yes", "nvmlDeviceGetRemappedRows"), *as_evidence(logged(gpu, log, 63), log)),
            fixes=(reset(gpu, site),),
        )
