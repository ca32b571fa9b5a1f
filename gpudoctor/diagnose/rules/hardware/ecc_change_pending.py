"""GD141: ecc-change-pending."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.gpu_facts import known, offered, reset
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.hardware.pending import _take_back, _word
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind


@rule("GD141", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def ecc_change_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """ECC will be switched on or off at the next reset of the GPU.

    ## Why it matters
    Somebody has changed the mode and the GPU still runs in the old one. After the next reset it has another amount of memory, on some
    cards, and notices errors or does not.

    ## What to do
    Reset the GPU now, when nothing runs on it, or take the change back.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    seen = known(gpu)
    now, then = offered(seen.ecc_enabled), offered(seen.ecc_pending)
    if now == then:
        return
    yield Problem(
        message=f"{gpu.label}: ECC is {_word(now)} and will be {_word(then)} after the next reset.",
        evidence=(Evidence("ECC mode now, pending", f"{_word(now)}, {_word(then)}", "nvmlDeviceGetEccMode"),),
        fixes=(reset(gpu, site), *_take_back(site, f"sudo nvidia-smi -i {gpu.key} --ecc-config={int(now)}")),
    )
