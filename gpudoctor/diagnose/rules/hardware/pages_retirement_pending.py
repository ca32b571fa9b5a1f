"""GD107: pages-retirement-pending."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import known, offered, replace, reset
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind

MOST_RETIRED = 60
"""NVIDIA's page on retirement: from here on a card is to be replaced; 64 pages can be retired in all."""


@rule("GD107", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def pages_retirement_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """Bad pages of the GPU's memory wait to be retired, or too many are.

    ## Why it matters
    GPUs before Ampere take a page that had a double-bit error, or two single-bit ones, out of use, but only when the driver is loaded
    next: until then programs can meet it. At most 64 pages can be retired.

    ## What to do
    Reset the GPU, or reboot, when nothing runs on it. From 60 retired pages on have the card replaced.

    ## References
    - https://docs.nvidia.com/deploy/dynamic-page-retirement/
    """
    pages = offered(known(gpu).retired_pages)
    count = pages.single_bit + pages.double_bit
    evidence = (Evidence("retired pages (single-bit, double-bit)", f"{pages.single_bit}, {pages.double_bit}", "NVML"),)
    if pages.pending:
        yield Problem(
            message=f"{gpu.label}: pages of its memory are to be retired when the driver is loaded next.",
            evidence=(Evidence("page retirement pending", "yes", "NVML"), *evidence),
            fixes=(reset(gpu, site),),
        )
    if count >= MOST_RETIRED:
        yield Problem(
            message=f"{gpu.label}: {count} pages of its memory are retired, of 64 that can be.",
            evidence=evidence,
            fixes=(replace("Have the card replaced"),),
        )
