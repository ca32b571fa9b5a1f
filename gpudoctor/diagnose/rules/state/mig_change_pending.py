"""GD740: mig-change-pending."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import known, offered, reset
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.diagnose.rules.hardware.pending import _take_back, _word
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind


@rule("GD740", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def mig_change_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """MIG will be switched on or off at the next reset of the GPU.

    ## Why it matters
    Somebody has changed the mode while programs used the GPU, so it still runs in the old one. After the next reset it is whole instead
    of divided, or divided instead of whole, and without instances no program can use it.

    ## What to do
    Reset the GPU now, when nothing runs on it, or take the change back.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    seen = known(gpu)
    now, then = offered(seen.mig_enabled), offered(seen.mig_pending)
    if seen.virtualization == "vgpu":
        not_applicable("a virtual GPU's mode is set on its host")
    if now == then:
        return
    yield Problem(
        message=f"{gpu.label}: MIG is {_word(now)} and will be {_word(then)} after the next reset.",
        evidence=(Evidence("MIG mode now, pending", f"{_word(now)}, {_word(then)}", "nvmlDeviceGetMigMode"),),
        fixes=(
            reset(gpu, site),
            *_take_back(site, f"sudo nvidia-smi -i {gpu.key} -mig {int(now)}"),
        ),
    )
