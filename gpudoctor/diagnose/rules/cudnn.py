"""GD4: whether the cuDNN that a framework would load is one that it runs with, and holds code for the GPU."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Component, EffectiveCuda, MachineView, Meetings, Stack, platform
from gpudoctor.derive.code import LACKS, Fit, Meeting, runs, spelt
from gpudoctor.derive.components import unlike, with_code
from gpudoctor.derive.packages import SUPPOSED
from gpudoctor.derive.specifiers import below, satisfies
from gpudoctor.diagnose.build_facts import called, listed, met, tell, with_cuda
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.installing import install_framework
from gpudoctor.diagnose.library_facts import for_a_gpu
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import CudnnRelease
from gpudoctor.snapshot import Cause, Framework, Missing, Python
from gpudoctor.versions import Version


def _cudnn(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> tuple[EffectiveCuda, Component]:
    """The cuDNN of a framework; ends the rule where it has no CUDA, or no GPU."""
    for_a_gpu(machine.hardware)
    cuda = with_cuda(effective)
    return cuda, need(machine.component("cudnn", framework))


def _versions(found: Component) -> tuple[Version, Version]:
    """The release wanted and the one that would be loaded; ends the rule where either is not known."""
    return need(found.wanted), need(found.loaded)


def _evidence(found: Component) -> tuple[Evidence, ...]:
    return (
        Evidence("cuDNN that the build wants", str(found.wanted), found.wanted_where),
        Evidence("cuDNN that is there", str(found.loaded), found.loaded_where),
    )


def _fitting(found: Component, wanted: Version, machine: MachineView) -> tuple[Fix, ...]:
    """How to get a cuDNN that the framework runs with."""
    specifier = next((demand.requirement.specifier for demand in found.demands), "") or f">={wanted},<{wanted.major + 1}"
    install = install_package(machine.observed.python, f"{found.wheel}{specifier}")
    stack = machine.stack_or_missing
    wheel = stack.distributions.get(found.wheel) if isinstance(stack, Stack) else None
    if found.wheel and found.loaded_where.startswith(found.wheel):
        return (Fix("Install a cuDNN that fits", install, (DOWNLOAD,)),)
    replace = f"Replace {found.loaded_where} by cuDNN {wanted} or a later {wanted.major}.x for this CUDA."
    if not found.wheel or (wheel is not None and satisfies(wheel.version, specifier)):
        return (Fix(replace, needs=(DOWNLOAD,)),)
    package = f"{found.wheel} {specifier}"
    return (
        Fix(f"Install {package} into the environment", install, (DOWNLOAD,)),
        Fix(replace, needs=(DOWNLOAD,), kind=FixKind.ELSE),
    )


@rule("GD409", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
def cudnn_wrong_major(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> Iterator[Problem]:
    """The cuDNN that is there is of another major release than the framework's build wants.

    ## Why it matters
    A build asks for one major release of cuDNN by the name of its file, libcudnn.so.8 or libcudnn.so.9. Another one, newer or older, is
    not found, or is refused: TensorFlow then registers no GPU, PyTorch and JAX stop with an error.

    ## What to do
    Install the cuDNN that the framework requires, or a release of the framework for the cuDNN that is there.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html
    - https://www.tensorflow.org/install/source#gpu
    """
    _, found = _cudnn(framework, effective, machine)
    wanted, loaded = _versions(found)
    if unlike(wanted, loaded) != "major":
        return
    yield Problem(
        message=f"{called(framework)} is built with cuDNN {wanted}, and the cuDNN that is there is {loaded}: another major release.",
        only_for=framework.name,
        evidence=_evidence(found),
        fixes=_fitting(found, wanted, machine),
    )


@rule("GD410", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def cudnn_version_mismatch(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> Iterator[Problem]:
    """The cuDNN that would be loaded is older than the one that the framework was built with.

    ## Why it matters
    A newer minor release of cuDNN does what an older one did, not the other way round. TensorFlow compares both when it first uses
    cuDNN ("Loaded runtime CuDNN library ... but source was compiled with ...") and fails; PyTorch and JAX refuse it as well. It happens
    when two frameworks share an environment and the one that was installed last set the version.

    ## What to do
    Install the cuDNN that this framework requires, or give each framework an environment of its own.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html
    - https://github.com/tensorflow/tensorflow/blob/master/third_party/xla/xla/stream_executor/cuda/cuda_dnn.cc
    """
    _, found = _cudnn(framework, effective, machine)
    wanted, loaded = _versions(found)
    difference = unlike(wanted, loaded)
    older = difference == "older"
    if difference == "major" or not (older or _refused(found, loaded)):
        return
    refused = "" if older else "; only the patch differs, which frameworks accept and an installer does not"
    supposed = machine.observed.origin == SUPPOSED
    yield Problem(
        message=f"{called(framework)} wants cuDNN {wanted} or later, and would load {loaded}{refused}.",
        severity=None if older or supposed else Severity.NOTE,
        only_for=framework.name,
        evidence=_evidence(found),
        fixes=_fitting(found, wanted, machine),
    )


def _refused(found: Component, loaded: Version) -> bool:
    """Whether the wheel is older than a requirement allows, be it by a patch only."""
    mine = found.loaded_where.startswith(found.wheel)
    return mine and any(below(str(loaded), demand.requirement.specifier) for demand in found.demands)


@rule("GD411", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def cudnn_drops_gpu(
    framework: Framework, effective: EffectiveCuda | Missing, meetings: Meetings | Missing, machine: MachineView, python: Python | Missing
) -> Iterator[Problem]:
    """The cuDNN that would be loaded has no code for this GPU, though the framework has.

    ## Why it matters
    CuDNN is a package of its own with its own list of GPUs: newer releases leave out architectures that the framework still supports, and
    older ones do not know the newest. Convolutions then end with CUDNN_STATUS_ARCH_MISMATCH, CUDNN_STATUS_EXECUTION_FAILED or "no
    kernel image is available". An installer takes the newest cuDNN that the framework's bounds allow, whatever the GPU.

    Where nobody named the version, it is a warning: pin it.

    ## What to do
    Pin the newest cuDNN that has code for the GPU and that the framework accepts.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html
    """
    cuda, found = _cudnn(framework, effective, machine)
    usable = met(meetings)
    loaded = need(found.loaded)
    if isinstance(found.wanted, Version) and unlike(found.wanted, loaded) == "major":
        not_applicable("the cuDNN that is there is of another major release")
    code = need(with_code(found, cuda, machine.observed, machine.matrix).code)
    fits = [(one, runs(code, one.capability) if one.capability else Fit.UNKNOWN) for one in usable if one.fit not in LACKS]
    lost = [one for one, fit in fits if fit in LACKS]
    if not lost:
        tell(usable, framework)
        if any(fit is Fit.UNKNOWN for _, fit in fits):
            need(Missing(Cause.NOT_STATED, f"whether cuDNN {loaded} holds code for every GPU is not known"))
        return
    left = any(fit not in LACKS for _, fit in fits)
    yield Problem(
        message=f"cuDNN {loaded} has no code for {listed(lost)}, which {called(framework)} otherwise supports.",
        severity=Severity.WARNING if found.chosen or left else None,
        only_for=framework.name,
        evidence=(
            Evidence("cuDNN", str(loaded), found.loaded_where),
            Evidence("GPU code in it", spelt(code), code.where),
            *(Evidence("compute capability", str(one.capability), one.gpu.label) for one in lost),
        ),
        fixes=(_pin(framework, cuda, found, lost, machine, python),),
    )


def _pin(
    framework: Framework, cuda: EffectiveCuda, found: Component, lost: list[Meeting], machine: MachineView, python: Python | Missing
) -> Fix:
    def fits(row: CudnnRelease) -> bool:
        accepted = all(satisfies(str(row.release), demand.requirement.specifier) is not False for demand in found.demands)
        compatible = isinstance(found.wanted, Missing) or not unlike(found.wanted, row.release)
        return accepted and compatible and all(one.capability and runs(row, one.capability) is Fit.NATIVE for one in lost)

    published = machine.matrix.cudnns(cuda.version.major, platform.word(machine.observed.host, machine.observed.python))
    row = next((row for row in reversed(published) if fits(row)), None)
    if row is None:
        title = f"Install a {framework.name} with a cuDNN for this GPU; none that {called(framework)} accepts has code for it"
        return msgspec.structs.replace(install_framework(machine, framework.name)[0], title=title)
    wanted = f"{found.wheel}=={row.release}"
    return Fix(f"Pin cuDNN {row.release}, the newest that has code for it", install_package(python, wanted), (DOWNLOAD,))


RULES = (cudnn_wrong_major, cudnn_version_mismatch, cudnn_drops_gpu)
