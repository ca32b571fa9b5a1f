"""GD708: mig-no-instances."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind


@rule(
    "GD708",
    severity=Severity.ERROR,
    breaks=Rung.LIBCUDA,
    since="0.1",
    about=SubjectKind.GPU,
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
def mig_no_instances(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """MIG is on and the GPU was not divided into instances.

    ## Why it matters
    With MIG on, programs run on instances only. Without any the GPU is idle silicon: CUDA does not list it (error 100 where it is the only one).

    ## What to do
    Create a GPU instance with its compute instance, or turn MIG off. Instances do not survive a reboot.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """
    seen = known(gpu)
    if not offered(seen.mig_enabled):
        return
    if need(seen.mig_instances, Rung.NVML):
        return
    yield Problem(
        message=f"{gpu.label}: MIG is on and there is no MIG instance.",
        evidence=(Evidence("MIG mode", "enabled", "nvmlDeviceGetMigMode"), Evidence("MIG instances", "0", "NVML")),
        fixes=_divide(gpu, site),
    )


def _divide(gpu: Gpu, site: Site) -> tuple[Fix, ...]:
    if site.container:
        return (Fix("Give the container an instance, by its UUID in NVIDIA_VISIBLE_DEVICES, and see on the host that there is one."),)
    return (
        Fix("Turn MIG off to use the whole GPU", f"sudo nvidia-smi -i {gpu.key} -mig 0", (ROOT,)),
        Fix(
            "Create one instance of the whole GPU (`nvidia-smi mig -lgip` lists others)",
            f"sudo nvidia-smi mig -i {gpu.key} -cgi 0 -C",
            (ROOT,),
            kind=FixKind.INSTEAD,
        ),
    )
