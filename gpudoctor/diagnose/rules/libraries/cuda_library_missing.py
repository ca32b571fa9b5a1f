from gpudoctor.derive import EffectiveCuda, FrameworkView
from gpudoctor.derive.cuda_libraries import takes_system_cuda
from gpudoctor.derive.libraries import places_of_same_name
from gpudoctor.derive.packages import source_of
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import install_libraries
from gpudoctor.diagnose.rules.libraries.missing import missing_library_problem
from gpudoctor.diagnose.rules.libraries.planned import install_framework_with_extra, known_release_row, planned_framework
from gpudoctor.findings import DOWNLOAD, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_and_more
from gpudoctor.snapshot import Missing


@rule("GD401", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(lambda machine: install_libraries(machine, "cuda-library-missing"))
@explains(
    ("cudnn-missing", "libdevice-not-found", "ptxas-not-found"),
    "The packages that contain CUDA's libraries contain these files too.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "Without the library the framework fails to import or uses the CPU.", Join.FRAMEWORK)
def cuda_library_missing(framework: FrameworkView) -> Problems:
    """A CUDA library that the framework needs is not installed."""
    if framework.machine.supposed:
        yield from _planned_problems(framework)
        return
    lost = tuple(use for use in framework.missing_libraries if use.component != "cudnn" and not places_of_same_name(use))
    if lost:
        yield missing_library_problem(framework, lost)


def _planned_problems(framework: FrameworkView) -> Problems:
    """Report a planned framework without the extra that installs CUDA, where no system CUDA is stated."""
    cuda = framework.cuda_or_missing
    if isinstance(cuda, EffectiveCuda) and _requests_unknown_extra(framework, cuda):
        yield _unknown_extra_problem(framework, cuda)
        return
    plan = planned_framework(framework)
    own, extra = plan.distribution, framework.spec.gpu_extra
    if not plan.takes_system_cuda or extra in own.extras or not isinstance(framework.machine.observed.toolkits, Missing):
        return
    yield Problem(
        message=f"{own.label} installs no CUDA libraries without the extra ({own.name}[{extra}]), and no system CUDA is stated.",
        title=f"{framework.spec.title} is planned without its CUDA libraries",
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence(f"{own.name}[{extra}] requires", first_and_more(plan.in_extra), source_of(plan.row)),
            Evidence("system CUDA", "not stated", "--system-cuda"),
        ),
        fixes=(
            *install_framework_with_extra(framework, plan.row),
            _install_system_cuda(plan.cuda, FixKind.INSTEAD),
        ),
    )


def _requests_unknown_extra(framework: FrameworkView, cuda: EffectiveCuda) -> bool:
    """Return whether a release is to install CUDA by an extra that it does not have; an installer only warns of that."""
    own, machine = framework.distribution, framework.machine
    if own is None or framework.spec.gpu_extra not in own.unknown_extras or known_release_row(framework) is None or not machine.gpus:
        return False
    return isinstance(machine.observed.toolkits, Missing) and takes_system_cuda(framework.observed, cuda, framework.environment.stack)


def _unknown_extra_problem(framework: FrameworkView, cuda: EffectiveCuda) -> Problem:
    extra, label = framework.spec.gpu_extra, framework.label
    releases = install_framework(framework.machine, framework.observed.distribution, near=framework.release)
    with_extra = tuple(fix for fix in releases if fix.installs)
    return Problem(
        message=f"{label} has no extra {extra} and installs no CUDA libraries, and no system CUDA is stated.",
        title=f"{framework.spec.title} is planned without its CUDA libraries",
        confidence=Confidence.LIKELY,
        evidence=(Evidence(f"extra {extra}", f"none in {label}", "its METADATA"), Evidence("system CUDA", "not stated", "--system-cuda")),
        fixes=(*with_extra, _install_system_cuda(cuda, FixKind.INSTEAD if with_extra else FixKind.FIX)),
    )


def _install_system_cuda(cuda: EffectiveCuda, kind: FixKind) -> Fix:
    text = f"Install CUDA {cuda.version.short} and a cuDNN for it, and state them with --system-cuda and --system-cudnn."
    return Fix(text, needs=(DOWNLOAD,), kind=kind)
