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


_SOON = 3600
"""Seconds before its end from which a licence is worth a note. The threshold is ours: a client renews long before the end."""


@rule("GD243", severity=Severity.WARNING, breaks=Rung.KERNEL_RAN, since="0.1", about=SubjectKind.GPU, predicts=False)
def vgpu_licence_expiring(gpu: Gpu) -> Iterator[Problem]:
    """The virtual GPU's licence is about to expire, or has expired.

    ## Why it matters
    A vGPU borrows its licence for a limited time and renews it well before the end. A licence near its end was not renewed: the guest
    cannot reach the licence server. After its end the vGPU is slowed down and finally refuses CUDA.

    It is a warning where the licence has expired, and a note in the last hour before: leases can be that short on purpose.

    ## What to do
    Restart the licence client and read its log; check that the guest reaches the licence server.

    ## References
    - https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/
    """
    seen = known(gpu)
    if offered(seen.virtualization) != "vgpu":
        not_applicable("not a virtual GPU")
    for one in (one for one in offered(seen.licences) if one.enabled and one.licensed):
        left = offered(one.seconds_left)
        if left > _SOON:
            continue
        when = f"expired at {one.expires}" if left <= 0 else f"expires in {max(1, round(left / 60))} min, at {one.expires}"
        yield Problem(
            message=f"{gpu.label}: the licence for {one.product} {when}.",
            severity=Severity.WARNING if left <= 0 else Severity.NOTE,
            evidence=(Evidence(f"end of the licence for {one.product}", str(one.expires), "nvmlDeviceGetGridLicensableFeatures"),),
            fixes=(
                Fix("Restart the licence client", "sudo systemctl restart nvidia-gridd", (ROOT,)),
                Fix("Read why it was not renewed", "sudo journalctl -u nvidia-gridd -n 30", (ROOT,), kind=FixKind.CHECK),
            ),
        )


RULES = (vgpu_unlicensed, confidential_computing_not_ready, vgpu_licence_expiring)
