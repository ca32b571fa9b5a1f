from collections.abc import Iterator

import msgspec

from gpudoctor.derive import EnvironmentView, MachineView, not_applicable
from gpudoctor.derive.nearness import nearness_order
from gpudoctor.derive.system_cuda import SystemCudaUser, missing_file_names, system_cuda_users
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.derive.wheel_platform import has_wheel
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import is_release_working, newest_release
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.libraries.install_missing import install_libraries
from gpudoctor.diagnose.rules.libraries.planned import packages_in_extra
from gpudoctor.findings import DOWNLOAD, Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import few_names
from gpudoctor.snapshot import Missing, Platform
from gpudoctor.versions import Version

_TOOLKIT_ARCHIVE = "https://developer.nvidia.com/cuda-toolkit-archive"


@rule("GD405", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, impact=Impact.AT_RISK)
@advises(lambda machine: install_libraries(machine, "cuda-version-mismatch"))
@explains(
    ("cuda-library-missing", "cudnn-missing", "cuda-libs-not-on-loader-path", "pip-nvidia-libs-not-on-path", "cuda-library-damaged"),
    "The build needs library files that the system's CUDA version does not have.",
)
@explains(("cudnn-version-mismatch", "cudnn-wrong-major"), "Each cuDNN is built for one CUDA version, so it changes with CUDA.")
@explains(TRAINING_FAILS, "Without CUDA's libraries the framework fails to import or uses the CPU.")
def cuda_version_mismatch(environment: EnvironmentView) -> Problems:
    """System CUDA version does not match the framework's build."""
    machine = environment.machine
    machine.need_gpu()
    installed = system_cudas(machine.toolkits)
    if not installed:
        not_applicable("the version of the system's CUDA is not known")
    for user in system_cuda_users(environment):
        lacking = [missing_file_names(user.version, version, machine.matrix) for version, _ in installed]
        if all(lacking) and not user.has_its_libraries:
            yield _mismatch_problem(user, lacking[0], installed, environment)


def _mismatch_problem(
    user: SystemCudaUser, lacking: tuple[str, ...], installed: list[tuple[Version, str]], environment: EnvironmentView
) -> Problem:
    machine = environment.machine
    names = " and ".join(dict.fromkeys(version.short for version, _ in installed))
    linux = machine.site.platform != Platform.WINDOWS  # the tables have no Windows file names
    lacks = f", which lacks {few_names(lacking)}" if linux else ""
    evidence = [
        Evidence("CUDA version of the build", user.cuda, user.where),
        *(Evidence("CUDA version of the system", str(version), where) for version, where in installed),
    ]
    if linux:
        evidence.append(
            Evidence("files the build needs and the system lacks", " ".join(lacking), "matrix: file names of each CUDA version")
        )
    return Problem(
        message=f"{user.label} is built for CUDA {user.cuda}, but the system has CUDA {names}{lacks}.",
        severity=_severity(user, environment),
        only_for=user.framework.name if user.framework else "",
        confidence=Confidence.CERTAIN if machine.supposed or user.framework else Confidence.LIKELY,
        evidence=tuple(evidence),
        fixes=_fixes(user, installed[0][0], environment),
    )


def _severity(user: SystemCudaUser, environment: EnvironmentView) -> Severity | None:
    """Return a note for a framework that trained, and a warning for CuPy, which is not run."""
    if user.framework is None:
        return None if environment.machine.supposed else Severity.WARNING
    return Severity.NOTE if user.framework.trains_on_gpu else None


def _fixes(user: SystemCudaUser, system: Version, environment: EnvironmentView) -> tuple[Fix, ...]:
    machine = environment.machine
    toolkit = _install_toolkit(user, machine)
    instead = msgspec.structs.replace(toolkit, kind=FixKind.INSTEAD)
    if user.framework is None:
        wheel = f"cupy-cuda{system.major}x"
        release = newest_release(machine, wheel)
        if not release:
            return (toolkit,)
        title = f"Install {wheel}, which is built for CUDA {system.major}"
        return install_fix(title, machine.observed.python, f"{wheel}=={release}", replace=(user.distribution,)), instead
    spec = user.framework.spec
    for row in user.framework.published:
        if any(package.startswith("nvidia-cuda-runtime") for package in packages_in_extra(user.framework, row)):
            pin = f"{spec.name}[{spec.gpu_extra}]=={row.release}"
            return install_fix(f"Install {spec.title} with its own CUDA libraries", machine.observed.python, pin), instead
    return (toolkit, *_install_build_for(system, user, environment))


def _install_toolkit(user: SystemCudaUser, machine: MachineView) -> Fix:
    """Return the fix that installs the toolkit of the build's CUDA."""
    oldest = next((cuda.release.short for cuda in machine.matrix.cudas(user.version)), user.cuda)
    title = f"Install CUDA {user.cuda} beside the existing version and put its lib64 folder first in LD_LIBRARY_PATH"
    return Fix(f"{title} ({_TOOLKIT_ARCHIVE}, without its driver).", needs=(DOWNLOAD,), system_cuda=oldest)


def _install_build_for(system: Version, user: SystemCudaUser, environment: EnvironmentView) -> Iterator[Fix]:
    """Return the fix that installs the nearest release that is built for the system's CUDA and works here."""
    machine, stack = environment.machine, environment.stack_or_missing
    python = "" if isinstance(stack, Missing) else stack.python
    rows = machine.matrix.releases(user.distribution, "linux_x86_64")
    own = "" if user.framework is None else user.framework.release
    for row in sorted(rows, key=lambda row: nearness_order(str(row.release), own)):
        if row.built_with_cuda is None or (python and not has_wheel(row, python)):
            continue
        if not missing_file_names(row.built_with_cuda, system, machine.matrix) and is_release_working(machine, row):
            title = f"Install {row.distribution} {row.release}, which is built for CUDA {row.built_with_cuda.short}"
            yield install_fix(title, machine.observed.python, f"{row.distribution}=={row.release}", kind=FixKind.INSTEAD)
            return
