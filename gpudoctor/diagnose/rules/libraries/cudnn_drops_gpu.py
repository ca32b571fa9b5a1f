from collections.abc import Iterator

from gpudoctor.derive import EffectiveCode, FrameworkView, not_applicable, not_stated, require_known, wheel_platform
from gpudoctor.derive.cuda_libraries import cudnn_difference
from gpudoctor.derive.gpu_code import UNSUPPORTED_FITS, Fit, GpuFit, fit_of_code
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.gpu_code import capability_evidence, models_text
from gpudoctor.diagnose.advice.installing import install_other_build
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.cudnn import only_part_clause
from gpudoctor.findings import Evidence, Fix, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import CudnnRelease
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version


@rule("GD411", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(TRAINING_FAILS, "Convolutions fail on a GPU that cuDNN has no kernels for.", Join.FRAMEWORK)
def cudnn_drops_gpu(framework: FrameworkView) -> Problems:
    """cuDNN has no kernels for this GPU."""
    found, cudnn = framework.cudnn, _cudnn_text(framework)
    usable = [meeting for meeting in framework.gpu_fits if meeting.fit not in UNSUPPORTED_FITS]
    if isinstance(found.wanted, Version) and isinstance(found.loaded, Version) and cudnn_difference(found.wanted, found.loaded) == "major":
        not_applicable("the installed cuDNN has a different major version")
    code = framework.cudnn_code
    fits = [(meeting, fit_of_code(code, meeting.capability) if meeting.capability else Fit.UNKNOWN) for meeting in usable]
    lost = [meeting for meeting, fit in fits if fit in UNSUPPORTED_FITS]
    if lost:
        left, part, pin = len(lost) < len(usable), only_part_clause(framework), _install_other_cudnn(framework, lost)
        mild = left or (found.chosen and pin is not None)
        yield Problem(
            message=f"cuDNN {cudnn} has no kernels for {models_text(lost)}, which {framework.label} supports{part}.",
            severity=Severity.NOTE if part else Severity.WARNING if mild else None,
            only_for=framework.name,
            evidence=(
                Evidence("cuDNN", cudnn, found.loaded_where or found.wanted_where or framework.cuda.where),
                Evidence("kernels in it", code.text, code.where),
                *_ptx_limit_evidence(framework, code),
                *capability_evidence(lost),
            ),
            fixes=() if part else (pin,) if pin is not None else install_other_build(framework.machine, framework.name, _common_fit(fits)),
        )
    elif framework.known_gpu_fits and any(fit is Fit.UNKNOWN for _, fit in fits):
        require_known(found.loaded)
        not_stated(f"the kernels in cuDNN {cudnn} are not known for every GPU")


def _cudnn_text(framework: FrameworkView) -> str:
    """Return the cuDNN that would be loaded; the major version that the build needs, or only its CUDA, if that is unknown."""
    found = framework.cudnn
    if isinstance(found.loaded, Version):
        return str(found.loaded)
    if isinstance(found.wanted, Version):
        return str(found.wanted.major)
    return f"for CUDA {framework.cuda.version.major}" if framework_of(framework.observed.distribution) else str(require_known(found.loaded))


def _ptx_limit_evidence(framework: FrameworkView, code: EffectiveCode) -> Iterator[Evidence]:
    """Yield why PTX in a cuDNN does not count, if it does not."""
    bound, cuda = (framework.machine.matrix.bound_row("cudnn", name) for name in ("forward-compatible", "forward-compatible-cuda"))
    if bound is not None and cuda is not None and code.ptx == ():
        yield Evidence("cuDNN on later GPUs", f"from {bound.version} for CUDA {cuda.version.major} on", citation(bound.source))


def _common_fit(fits: list[tuple[GpuFit, Fit]]) -> Fit:
    """Return whether the GPUs are too new, or some of them too old."""
    return Fit.TOO_OLD if any(fit is Fit.TOO_OLD for _, fit in fits) else Fit.TOO_NEW


def _install_other_cudnn(framework: FrameworkView, lost: list[GpuFit]) -> Fix | None:
    """Return the fix that installs a cuDNN with kernels for the lost GPUs; None if the framework accepts none."""
    machine = framework.machine
    wheels = wheel_platform.platform_name(machine.observed.host, machine.observed.python) or wheel_platform.LINUX_X86_64
    published = machine.matrix.cudnns(framework.cuda.version.major, wheels)
    row = next((row for row in reversed(published) if _is_suitable(row, framework, lost)), None)
    if row is None:
        return None
    title = f"Pin cuDNN {row.release}, the newest with kernels for this GPU"
    return install_fix(title, machine.observed.python, f"{framework.cudnn.wheel}=={row.release}")


def _is_suitable(row: CudnnRelease, framework: FrameworkView, lost: list[GpuFit]) -> bool:
    """Return whether the framework accepts a cuDNN release that has machine code for the lost GPUs."""
    found = framework.cudnn
    accepted = all(satisfies(str(row.release), demand.requirement.specifier) is not False for demand in found.demands)
    compatible = isinstance(found.wanted, Missing) or not cudnn_difference(found.wanted, row.release)
    return accepted and compatible and all(meeting.capability and fit_of_code(row, meeting.capability) is Fit.NATIVE for meeting in lost)
