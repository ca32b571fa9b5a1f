from collections.abc import Sequence

from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.diagnose.advice.packages import install_command, is_uv_environment, quoted_interpreter
from gpudoctor.diagnose.rule import CUDA_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.hardware.vendors import amd_gpus, device_label, rocm_frameworks
from gpudoctor.findings import DOWNLOAD, Domain, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.snapshot import Platform


@rule("GD114", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, domain=Domain.ENVIRONMENT, predicts=False)
@advises(lambda machine: (_install_rocm_build(machine, machine.frameworks),))
@explains(("no-gpu", "no-driver"), "A machine with only AMD GPUs has no NVIDIA GPU or driver.")
@explains(CUDA_FAILS, "A CUDA build finds no GPU here, so training runs on the CPU or fails.")
def amd_gpu_unsupported(machine: MachineView) -> Problems:
    """Framework is built for CUDA, but the GPU is from AMD."""
    gpus = amd_gpus(machine)
    if not gpus:
        return
    for_cuda = [framework for framework in machine.known_frameworks if framework.observed.cuda_build is True]
    if not for_cuda or rocm_frameworks(machine):
        return
    names = joined_words(framework.name for framework in for_cuda)
    labels = ", ".join(map(device_label, gpus))
    yield Problem(
        severity=Severity.NOTE if machine.policy.allow_cpu else None,
        message=f"{names} {singular_or_plural(len(for_cuda), 'is a CUDA build', 'are CUDA builds')} and cannot use the GPU ({labels}).",
        evidence=(
            *(Evidence("GPU", device_label(device), f"/sys/bus/pci/devices/{device.address}") for device in gpus),
            *(Evidence(f"{framework.name} build", "CUDA", _framework_location(framework)) for framework in for_cuda),
        ),
        fixes=(
            _install_rocm_build(machine, for_cuda),
            Fix("Allow training on the CPU", "gpudoctor check --allow-cpu", kind=FixKind.INSTEAD),
        ),
    )


def _framework_location(framework: FrameworkView) -> str:
    observed = framework.observed
    return observed.location if isinstance(observed.location, str) else observed.distribution


def _install_rocm_build(machine: MachineView, frameworks: Sequence[FrameworkView]) -> Fix:
    """Return how to install a ROCm build. uv picks the index for the installed driver; pip needs its URL, which no table has."""
    framework = next((framework for framework in frameworks if framework.spec.uv_backend), None)
    if framework is not None and machine.site.platform == Platform.WINDOWS:  # where uv looks for no AMD GPU
        title = f"Install AMD's build of {framework.spec.title} for Windows, if it supports this GPU, or the ROCm build in Linux"
        return Fix(f"{title}: https://rocm.docs.amd.com", needs=(DOWNLOAD,))
    if framework is None:
        return Fix("Install a ROCm build; see https://rocm.docs.amd.com", needs=(DOWNLOAD,))
    python = machine.observed.python
    path = quoted_interpreter(python)
    uv = "uv" if is_uv_environment(python) else f"{install_command(python, 'uv')} && {path} -m uv"
    command = f"{uv} pip install --python {path} --reinstall {framework.name} {framework.spec.uv_backend}"
    return Fix(f"Install the ROCm build of {framework.spec.title}", command, (DOWNLOAD,))
