"""GD222: vgpu-unlicensed."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Libcuda, Missing, Status

_NOT_LICENSED = 102


@rule(
    "GD222",
    severity=Severity.ERROR,
    breaks=Rung.KERNEL_RAN,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(("gpu-missing-from-cuda",), "", Join.GPU),
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
