from collections.abc import Iterator

from gpudoctor.derive import EffectiveCode, FrameworkView, known, not_applicable, not_stated, wheel_platform
from gpudoctor.derive.cuda_libraries import unlike
from gpudoctor.derive.gpu_code import LACKS, Fit, Meeting, runs
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.gpu_code import capability_evidence, models
from gpudoctor.diagnose.advice.installing import other_builds
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.cudnn import only_part
from gpudoctor.findings import Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import CudnnRelease
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version


@rule("GD411", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(TRAINING_FAILS, "Convolutions fail on a GPU that cuDNN has no kernels for.", Join.FRAMEWORK)
def cudnn_drops_gpu(framework: FrameworkView) -> Problems:
    """cuDNN has no kernels for this GPU."""
    found, cudnn = framework.cudnn, _release(framework)
    usable = [meeting for meeting in framework.meetings if meeting.fit not in LACKS]
    if isinstance(found.wanted, Version) and isinstance(found.loaded, Version) and unlike(found.wanted, found.loaded) == "major":
        not_applicable("the installed cuDNN has a different major version")
    code = framework.cudnn_code
    fits = [(meeting, runs(code, meeting.capability) if meeting.capability else Fit.UNKNOWN) for meeting in usable]
    lost = [meeting for meeting, fit in fits if fit in LACKS]
    if lost:
        left, part, pin = len(lost) < len(usable), only_part(framework), _pin(framework, lost)
        mild = left or (found.chosen and pin is not None)
        yield Problem(
            message=f"cuDNN {cudnn} has no kernels for {models(lost)}, which {framework.label} supports{part}.",
            severity=Severity.NOTE if part else Severity.WARNING if mild else None,
            only_for=framework.name,
            evidence=(
                Evidence("cuDNN", cudnn, found.loaded_where or found.wanted_where or framework.cuda.where),
                Evidence("kernels in it", code.text, code.where),
                *_limit(framework, code),
                *capability_evidence(lost),
            ),
            fixes=() if part else (pin,) if pin is not None else other_builds(framework.machine, framework.name, _common(fits)),
        )
    elif framework.known_meetings and any(fit is Fit.UNKNOWN for _, fit in fits):
        known(found.loaded)
        not_stated(f"the kernels in cuDNN {cudnn} are not known for every GPU")


def _release(framework: FrameworkView) -> str:
    """Return the cuDNN that would be loaded; the major version that the build needs, or only its CUDA, if that is unknown."""
    found = framework.cudnn
    if isinstance(found.loaded, Version):
        return str(found.loaded)
    if isinstance(found.wanted, Version):
        return str(found.wanted.major)
    return f"for CUDA {framework.cuda.version.major}" if framework_of(framework.observed.distribution) else str(known(found.loaded))


def _limit(framework: FrameworkView, code: EffectiveCode) -> Iterator[Evidence]:
    """Yield why PTX in a cuDNN does not count, if it does not."""
    bound, cuda = (framework.machine.matrix.bound_row("cudnn", name) for name in ("forward-compatible", "forward-compatible-cuda"))
    if bound is not None and cuda is not None and code.ptx == ():
        yield Evidence("cuDNN on later GPUs", f"from {bound.version} for CUDA {cuda.version.major} on", cited(bound.source))


def _common(fits: list[tuple[Meeting, Fit]]) -> Fit:
    """Return whether the GPUs are too new, or some of them too old."""
    return Fit.TOO_OLD if any(fit is Fit.TOO_OLD for _, fit in fits) else Fit.TOO_NEW


def _pin(framework: FrameworkView, lost: list[Meeting]) -> Fix | None:
    """Return the fix that installs a cuDNN with kernels for the lost GPUs; None if the framework accepts none."""
    machine = framework.machine
    wheels = wheel_platform.name(machine.observed.host, machine.observed.python) or wheel_platform.LINUX
    published = machine.matrix.cudnns(framework.cuda.version.major, wheels)
    row = next((row for row in reversed(published) if _fits(row, framework, lost)), None)
    if row is None:
        return None
    title = f"Pin cuDNN {row.release}, the newest with kernels for this GPU"
    return install_fix(title, machine.observed.python, f"{framework.cudnn.wheel}=={row.release}")


def _fits(row: CudnnRelease, framework: FrameworkView, lost: list[Meeting]) -> bool:
    """Return whether the framework accepts a cuDNN release that has machine code for the lost GPUs."""
    found = framework.cudnn
    accepted = all(satisfies(str(row.release), demand.requirement.specifier) is not False for demand in found.demands)
    compatible = isinstance(found.wanted, Missing) or not unlike(found.wanted, row.release)
    return accepted and compatible and all(meeting.capability and runs(row, meeting.capability) is Fit.NATIVE for meeting in lost)
