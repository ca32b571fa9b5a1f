"""GD223: confidential-computing-not-ready."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import offered
from gpudoctor.diagnose.rule import Explains, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity
from gpudoctor.snapshot import Nvml


@rule(
    "GD223",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    explains=(
        Explains(
            (
                "cuda-init-fails",
                "required-gpus-missing",
                *TRAINING_FAILS,
            ),
            "",
        ),
    ),
)
def confidential_computing_not_ready(nvml: Nvml, site: Site) -> Iterator[Problem]:
    """Confidential computing is on and its GPUs accept no work yet.

    ## Why it matters
    In a confidential virtual machine the GPUs take no work until somebody has attested them and said so; until then cuInit answers
    802, as it does for an NVSwitch fabric that is not up.

    ## What to do
    Attest the GPUs, then set them ready. The setting is lost with each restart of the driver.

    ## References
    - https://docs.nvidia.com/confidential-computing/
    """
    if not offered(nvml.confidential):
        not_applicable("confidential computing is off")
    if offered(nvml.confidential_ready):
        return
    command = "" if site.container else "sudo nvidia-smi conf-compute -srs 1"
    yield Problem(
        message="Confidential computing is on and the GPUs are not set ready to accept work.",
        evidence=(Evidence("GPUs ready state", "not ready", "nvmlSystemGetConfComputeGpusReadyState"),),
        fixes=(Fix("Attest the GPUs, then set them ready" + ("" if command else ", on the machine itself."), command, (ROOT,)),),
    )
