"""GD5: whether a framework's build holds code for the GPUs that are there."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, MachineView, Meetings
from gpudoctor.derive.code import PTX_REFUSED, Fit, compiles
from gpudoctor.diagnose.build_facts import called, code_evidence, listed, met, remains, tell
from gpudoctor.diagnose.fixes import DOWNLOAD
from gpudoctor.diagnose.installing import install, install_framework, release_of
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Framework, Missing

_CONTAINER = "https://catalog.ngc.nvidia.com/orgs/nvidia/containers/tensorflow"


@rule("GD505", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def gpu_too_new_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework's build has no code for a GPU as new as this one.

    ## Why it matters
    A build holds machine code for certain architectures. Such code runs on GPUs of the same major compute capability with the same or a
    higher minor one, and on no others. For newer GPUs a build needs PTX, which the driver compiles; without it the first operation ends
    with "no kernel image is available for execution on the device" (PyTorch), or the GPU is ignored (TensorFlow). PTX that the driver refuses
    is none: TensorFlow 2.16 to 2.21 end with CUDA_ERROR_INVALID_PTX on compute capability 10.0 and newer.

    It is an error where no GPU is left that the build runs on and no other framework could train, else a warning.

    ## What to do
    Install a newer release, or a build of the same release for a newer CUDA. Neither driver nor toolkit has to change for it, unless the
    new build asks for a newer driver.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://github.com/tensorflow/tensorflow/issues/89272
    - https://github.com/tensorflow/tensorflow/issues/90291
    - https://github.com/tensorflow/tensorflow/issues/97387
    - https://github.com/tensorflow/tensorflow/issues/99592
    - https://github.com/tensorflow/tensorflow/issues/101746
    """
    yield from _no_code(Fit.TOO_NEW, framework, met(meetings), need(code), machine)


@rule("GD506", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def gpu_too_old_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework's build no longer has code for a GPU as old as this one.

    ## Why it matters
    Newer releases leave out old architectures, and a CUDA toolkit drops them for good: CUDA 12 has no Kepler, CUDA 13 neither Maxwell,
    Pascal nor Volta. Neither machine code nor PTX for a newer GPU runs on an older one. TensorFlow ignores such a GPU; PyTorch warns and
    fails at the first operation with "no kernel image is available for execution on the device".

    It is an error where no GPU is left that the build runs on and no other framework could train, else a warning.

    ## What to do
    Install the last release that holds code for the GPU, or a build of this release for an older CUDA, where one is published.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    """
    yield from _no_code(Fit.TOO_OLD, framework, met(meetings), need(code), machine)


def _no_code(fit: Fit, framework: Framework, meetings: Meetings, code: EffectiveCode, machine: MachineView) -> Iterator[Problem]:
    lost = meetings.lacking(fit)
    if not lost:
        tell(meetings, framework)
        return
    refused = [one for one in machine.faults(framework) if fit is Fit.TOO_NEW and one.fault == PTX_REFUSED]
    but = ", and its PTX does not load there (CUDA_ERROR_INVALID_PTX)" if refused else ""
    yield Problem(
        message=f"{called(framework)} has no kernels for {listed(lost)}: it has {code.text}{but}.",
        severity=Severity.WARNING if remains(meetings, lost) else None,
        only_for=framework.name,
        evidence=(
            *code_evidence(code, lost),
            *(Evidence("its PTX", f"refused from compute capability {one.oldest_capability} on", cited(one.source)) for one in refused),
        ),
        fixes=_other_builds(framework, machine, fit),
    )


def _other_builds(framework: Framework, machine: MachineView, fit: Fit) -> tuple[Fix, ...]:
    """The newest release with code for every GPU, and the same one built for another CUDA where that has it."""
    same = pick(machine, framework.name, prefer=release_of(framework))
    newest = install_framework(machine, framework.name)
    if fit is Fit.TOO_NEW and framework.name == "tensorflow" and pick(machine, framework.name, any_driver=True, any_python=True) is None:
        container = Fix(f"Use NVIDIA's TensorFlow container, whose build has kernels for it: {_CONTAINER}", needs=(DOWNLOAD,))
        return (container, *(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in newest))
    if same is None or same.release != release_of(framework):
        return newest
    first = install(machine, framework.name, same, title=f"Install {same.name}, which has code for it")
    other = tuple(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in newest if fix.command != first.command)
    return (first, *other)


@rule("GD507", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def slow_ptx_jit(
    framework: Framework,
    meetings: Meetings | Missing,
    code: EffectiveCode | Missing,
    effective: EffectiveCuda | Missing,
    driver: Driver | Missing,
    machine: MachineView,
) -> Iterator[Problem]:
    """The framework's build has only PTX for this GPU, which the driver compiles at first use.

    ## Why it matters
    Without machine code for the GPU every kernel is compiled when it is first called. TensorFlow itself warns of half an hour; until then
    a program seems to hang. The driver keeps what it compiled in ~/.nv/ComputeCache, which is limited in size and lost with a container.

    ## What to do
    Install a release with machine code for the GPU. Where there is none, give the cache room and a place that stays.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#just-in-time-compilation
    """
    found = met(meetings)
    portable = found.lacking(Fit.PTX)
    if not portable:
        tell(found, framework)
        return
    cuda = need(effective)
    if isinstance(driver, Driver) and compiles(driver, cuda, machine.matrix) is False:
        return  # driver-too-old says so
    holds = need(code)
    newer = pick(machine, framework.name)
    other = () if newer is None or newer.release == release_of(framework) else (newer,)
    room = "export CUDA_CACHE_MAXSIZE=4294967296 CUDA_CACHE_PATH=$HOME/.nv/ComputeCache"
    yield Problem(
        message=f"{called(framework)} holds no machine code for {listed(portable)}, only PTX ({' '.join(holds.ptx or ())}): "
        "the driver compiles it at first use, which can take half an hour.",
        evidence=(*code_evidence(holds, portable), Evidence("CUDA of the PTX", str(cuda.version), cuda.where)),
        fixes=(
            *(install(machine, framework.name, one, title=f"Install {one.name}, which has machine code for it") for one in other),
            Fix("Keep what was compiled: 4 GiB, in a folder that stays", room, kind=FixKind.INSTEAD if other else FixKind.FIX),
        ),
    )


RULES = (gpu_too_new_for_build, gpu_too_old_for_build, slow_ptx_jit)
