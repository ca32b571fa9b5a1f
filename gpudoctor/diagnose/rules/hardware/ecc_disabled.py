"""GD140: ecc-disabled."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind


@rule("GD140", severity=Severity.NOTE, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def ecc_disabled(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """ECC is off on a GPU that has it.

    ## Why it matters
    Without ECC a flipped bit in the GPU's memory is neither corrected nor noticed: a training goes on with a wrong number. GeForce and
    workstation cards come with it off, as it takes some of their memory and bandwidth; on cards for servers somebody has switched it off.

    ## What to do
    Nothing, if that is meant. Otherwise switch it on and reset the GPU.

    ## References
    - https://docs.nvidia.com/deploy/nvidia-smi/
    """
    seen = known(gpu)
    if offered(seen.ecc_enabled) or seen.ecc_pending is True:
        return
    command = f"sudo nvidia-smi -i {gpu.key} --ecc-config=1"
    yield Problem(
        message=f"{gpu.label}: ECC is off, so flipped bits in its memory go unnoticed.",
        evidence=(Evidence("ECC mode", "disabled", "nvmlDeviceGetEccMode"),),
        fixes=(
            Fix("Have the host switch ECC on, unless it is meant to be off.")
            if site.container
            else Fix(
                "Switch ECC on, unless it is meant to be off; it takes effect with the next reset or reboot",
                command,
                (ROOT, "reboot"),
            ),
        ),
    )
