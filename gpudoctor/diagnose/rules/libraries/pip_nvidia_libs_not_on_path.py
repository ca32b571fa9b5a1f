from gpudoctor import versions
from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.derive.packages import source_of
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import add_library_folder, install_libraries
from gpudoctor.diagnose.rules.libraries.missing import unsearched_library_problems
from gpudoctor.diagnose.rules.libraries.planned import PlannedFramework, install_framework_with_extra, planned_framework
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words, singular_or_plural
from gpudoctor.snapshot import Fact, Missing

_RULE_NAME = "pip-nvidia-libs-not-on-path"


def _provide_libraries(machine: MachineView) -> tuple[Fix, ...]:
    """Return what gives a framework its libraries; for a program that is none, the folder in which the text shows them."""
    return tuple(install_libraries(machine, _RULE_NAME)) if machine.frameworks else add_library_folder(machine, _RULE_NAME)


@rule("GD404", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(_provide_libraries)
@explains(TRAINING_FAILS, "Without the libraries the framework fails to import or uses the CPU.", Join.FRAMEWORK)
def pip_nvidia_libs_not_on_path(framework: FrameworkView) -> Problems:
    """CUDA libraries from pip packages are not on the framework's path."""
    if framework.machine.supposed:
        yield from _planned_problems(framework)
    else:
        yield from unsearched_library_problems(framework, in_wheels=True)


def _planned_problems(framework: FrameworkView) -> Problems:
    """Report packages that a planned framework requires but whose folders are not in its RUNPATH."""
    plan = planned_framework(framework)
    stack = framework.environment.stack
    installed = {*stack.distributions, *(demand.requirement.name for demand in stack.demands)}
    lost = [name for name in plan.row.unreachable or () if name in installed and not _is_on_system(name, plan, framework)]
    if not lost:
        return
    names, label = joined_words(lost), plan.distribution.label
    folders = singular_or_plural(len(lost), "its folder", "their folders")
    yield Problem(
        message=f"{label} cannot find {names}: the wheel's RUNPATH leaves out {folders}.",
        confidence=Confidence.LIKELY,
        evidence=(Evidence(f"packages that {label} requires and cannot find", " ".join(lost), source_of(plan.row)),),
        fixes=(
            *install_framework_with_extra(framework, plan.row),
            Fix(
                f"Add the lib folders of {names} in site-packages/nvidia to LD_LIBRARY_PATH, for this environment only.",
                kind=FixKind.INSTEAD,
            ),
        ),
    )


def _is_on_system(name: str, plan: PlannedFramework, framework: FrameworkView) -> bool:
    """Return whether the system CUDA or cuDNN has the libraries of a package."""
    if not name.startswith("nvidia-cudnn"):
        return any(version.major == plan.cuda.version.major for version, _ in system_cudas(framework.machine.known_toolkits))
    stated = framework.machine.observed.system_cudnn
    version = versions.parse_version(stated.value) if isinstance(stated, Fact) else None
    return version is not None and not isinstance(plan.cuda.cudnn, Missing) and version.major == plan.cuda.cudnn.major
