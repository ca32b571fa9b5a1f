"""GD2: virtual GPUs and confidential computing: licences, and work that waits for attestation."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.fixes import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Libcuda, Missing, Nvml, Status

_NOT_LICENSED = 102


@rule("GD222", severity=Severity.ERROR, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU, predicts=False)
def vgpu_unlicensed(gpu: Gpu, libcuda: Libcuda | Missing) -> Iterator[Problem]:
    """The virtual GPU has no licence.

    ## Why it matters
    A vGPU works in full for a while after start, then is slowed down and in the end refuses CUDA (error 102). The licence comes from a
    server that the guest must reach.

    ## What to do
    Give the guest its client token and restart nvidia-gridd; look at its log if the licence does not come.

    ## References
    - https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/
    """
    seen = known(gpu)
    if offered(seen.virtualization) != "vgpu":
        not_applicable("not a virtual GPU")
    lacking = [one for one in offered(seen.licences) if one.enabled and not one.licensed]
    refused = isinstance(libcuda, Libcuda) and isinstance(libcuda.init, Status) and libcuda.init.code == _NOT_LICENSED
    for one in lacking:
        yield Problem(
            message=f"{gpu.label} is a virtual GPU without a licence for {one.product}"
            + ("; CUDA refuses to start." if refused else "; it will be slowed down, then refuse CUDA."),
            severity=None if refused else Severity.WARNING,
            evidence=(Evidence(one.product, "unlicensed", "nvmlDeviceGetGridLicensableFeatures"),),
            fixes=(
                Fix("Restart the licence client", "sudo systemctl restart nvidia-gridd", (ROOT,)),
                Fix("Read why there is no licence", "sudo journalctl -u nvidia-gridd -n 30", (ROOT,), kind=FixKind.CHECK),
                Fix(
                    "Put the client token into /etc/nvidia/ClientConfigToken, then restart nvidia-gridd.", needs=(ROOT,), kind=FixKind.ELSE
                ),
            ),
        )


@rule("GD223", severity=Severity.ERROR, breaks=Rung.LIBCUDA, since="0.1")
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


RULES = (vgpu_unlicensed, confidential_computing_not_ready)
