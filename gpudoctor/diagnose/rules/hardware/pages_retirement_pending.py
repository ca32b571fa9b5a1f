from gpudoctor.derive import GpuView
from gpudoctor.diagnose.advice.hardware import replace_hardware, reset_gpu
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Impact, Problem, Problems, Rung, Severity

REPLACE_AT_PAGES, MAX_RETIRED_PAGES = 60, 64
"""NVIDIA's page on retirement: a GPU with 60 retired pages is replaced, and 64 can be retired."""


@rule("GD107", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
def pages_retirement_pending(gpu: GpuView) -> Problems:
    """GPU memory pages are pending retirement, or too many are retired."""
    pages = gpu.retired_pages
    count = pages.single_bit + pages.double_bit
    retired = Evidence("retired pages (single-bit, double-bit)", f"{pages.single_bit}, {pages.double_bit}", "NVML")
    if pages.pending:
        yield Problem(
            message=f"{gpu.label} has bad memory pages in use; they are retired at the next reset.",
            evidence=(Evidence("page retirement pending", "yes", "NVML"), retired),
            fixes=(reset_gpu(gpu),),
        )
    if count >= REPLACE_AT_PAGES:
        yield Problem(
            message=f"{gpu.label} has {count} retired memory pages; {MAX_RETIRED_PAGES} is the maximum, {REPLACE_AT_PAGES} the limit for replacement.",
            evidence=(retired,),
            fixes=(replace_hardware(),),
        )
