"""GD5: whether a framework's build holds code for the GPUs that are there."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, Facts, Meetings
from gpudoctor.derive.code import Fit, Meeting, compiles, runs
from gpudoctor.diagnose.build_facts import called, code_evidence, listed, met, release_for, remains, tell
from gpudoctor.diagnose.fixes import DOWNLOAD, install_package
from gpudoctor.diagnose.rule import need, rule
from gpudoctor.findings import Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Fact, Framework, Missing, Python
from gpudoctor.versions import Version

VERIFY = "gpudoctor check --level train"


@rule("GD505", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def gpu_too_new_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, facts: Facts, python: Python | Missing
) -> Iterator[Problem]:
    """The framework's build has no code for a GPU as new as this one.

    ## Why it matters
    A build holds machine code for certain architectures. Such code runs on GPUs of the same major compute capability with the same or a
    higher minor one, and on no others. For newer GPUs a build needs PTX, which the driver compiles; without it the first operation ends
    with "no kernel image is available for execution on the device" (PyTorch), or the GPU is ignored (TensorFlow).

    It is an error where no GPU is left that the build runs on and no other framework could train, else a warning.

    ## What to do
    Install a newer release, or a build of the same release for a newer CUDA. Neither driver nor toolkit has to change for it, unless the
    new build asks for a newer driver.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    """
    yield from _no_code(Fit.TOO_NEW, framework, met(meetings), need(code), facts, python)


@rule("GD506", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def gpu_too_old_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, facts: Facts, python: Python | Missing
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
    yield from _no_code(Fit.TOO_OLD, framework, met(meetings), need(code), facts, python)


def _no_code(
    fit: Fit, framework: Framework, meetings: Meetings, code: EffectiveCode, facts: Facts, python: Python | Missing
) -> Iterator[Problem]:
    lost = meetings.lacking(fit)
    if not lost:
        tell(meetings, framework)
        return
    yield Problem(
        message=f"{called(framework)} holds no code for {listed(lost)}: it has {code.text}.",
        severity=Severity.WARNING if remains(meetings, lost) else None,
        only_for=framework.name,
        evidence=code_evidence(code, lost),
        fixes=_other_builds(fit, framework, lost, facts, python),
    )


def _other_builds(fit: Fit, framework: Framework, lost: tuple[Meeting, ...], facts: Facts, python: Python | Missing) -> tuple[Fix, ...]:
    capabilities = [one.capability for one in lost if one.capability is not None]
    names = " and ".join(dict.fromkeys(str(one) for one in capabilities))
    release = release_for(facts, framework, capabilities)
    found = []
    if release:
        title = f"Install {release}, the newest release known to have code for compute capability {names}"
        found.append(Fix(title, install_package(python, release), (DOWNLOAD,), VERIFY))
    tag, sure = _other_cuda(fit, framework, capabilities, facts)
    if tag:
        pin = framework.version.value.partition("+")[0] if isinstance(framework.version, Fact) else ""
        executable = python.executable if isinstance(python, Python) else "python"
        command = f"uv pip install --python {executable} --reinstall torch=={pin} --torch-backend={tag}"
        title = f"{'Install' if sure else 'Try'} the same release built for another CUDA, {tag}, which {'has' if sure else 'may have'} code for it"
        found.insert(0 if sure else len(found), Fix(title, command, (DOWNLOAD,), VERIFY))
    if not found and fit is Fit.TOO_NEW:
        found.append(Fix(f"Install the newest {framework.name}, or a preview of the next release.", needs=(DOWNLOAD,), verify=VERIFY))
    if not found:
        found.append(
            Fix(f"No published release of {framework.name} for this Python and driver is known to have code for it: use another GPU.")
        )
    return tuple(found)


def _other_cuda(fit: Fit, framework: Framework, capabilities: list[Version], facts: Facts) -> tuple[str, bool]:
    """The CUDA, as local versions name it, of another official build of this release for these GPUs, and whether it is known to fit.

    Where nobody read a build it may fit if its compiler makes such code, and the next release (for an old GPU: the one before) has it.
    """
    cuda, rows = facts.effective_cuda(framework), facts.published(framework)
    if framework.name != "torch" or not rows or isinstance(cuda, Missing):
        return "", False
    near = _neighbour(fit, rows[0], facts)
    hopeful = near is not None and all(runs(near, one) is Fit.NATIVE for one in capabilities)
    tags = {tag: Version(int(tag[2:-1]), int(tag[-1])) for tag in rows[0].builds if tag.startswith("cu") and tag[2:].isdigit()}
    for tag, other in sorted(tags.items(), key=lambda item: item[1], reverse=fit is Fit.TOO_OLD):
        if other[:2] == cuda.version[:2] or (other > cuda.version) is not (fit is Fit.TOO_NEW):
            continue
        build = facts.matrix.resolve("torch", f"{rows[0].release}+{tag}", rows[0].platform).row
        compiler = facts.matrix.cuda(other)
        known = build is not None and build.sass is not None
        sass = build.sass if build is not None and known else compiler.sass if compiler is not None and hopeful else None
        if all(runs(EffectiveCode(sass=sass, ptx=(), where=""), one) is Fit.NATIVE for one in capabilities):
            return tag, known
    return "", False


def _neighbour(fit: Fit, row: FrameworkRelease, facts: Facts) -> FrameworkRelease | None:
    """The nearest release of another minor version: a newer one for a GPU that is too new, an older one for one that is too old."""
    minors = {one.release[:2]: one for one in facts.matrix.releases(row.distribution, row.platform)}
    later = fit is Fit.TOO_NEW
    beyond = [minor for minor in minors if minor != row.release[:2] and (minor > row.release[:2]) is later]
    return minors[min(beyond) if later else max(beyond)] if beyond else None


@rule("GD507", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.FRAMEWORK)
def slow_ptx_jit(
    framework: Framework,
    meetings: Meetings | Missing,
    code: EffectiveCode | Missing,
    effective: EffectiveCuda | Missing,
    driver: Driver | Missing,
    facts: Facts,
    python: Python | Missing,
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
    if isinstance(driver, Driver) and compiles(driver, cuda, facts.matrix) is False:
        return  # driver-too-old says so
    holds = need(code)
    release = release_for(facts, framework, (one.capability for one in portable if one.capability is not None))
    room = "export CUDA_CACHE_MAXSIZE=4294967296 CUDA_CACHE_PATH=$HOME/.nv/ComputeCache"
    yield Problem(
        message=f"{called(framework)} holds no machine code for {listed(portable)}, only PTX ({' '.join(holds.ptx or ())}): "
        "the driver compiles it at first use, which can take half an hour.",
        evidence=(*code_evidence(holds, portable), Evidence("CUDA of the PTX", str(cuda.version), cuda.where)),
        fixes=(
            *(
                (Fix(f"Install {release}, which has machine code for it", install_package(python, release), (DOWNLOAD,)),)
                if release
                else ()
            ),
            Fix("Keep what was compiled: room for 4 GiB, in a folder that stays", room),
        ),
    )


RULES = (gpu_too_new_for_build, gpu_too_old_for_build, slow_ptx_jit)
