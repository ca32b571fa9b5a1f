"""Fixes that install the libraries that a framework lacks."""

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, FrameworkView, MachineView
from gpudoctor.derive.libraries import LIBRARY_PATH, installed_wheels, required_wheels
from gpudoctor.diagnose.advice.installing import install_framework, installed_by_conda
from gpudoctor.diagnose.advice.message_fixes import usual_fixes
from gpudoctor.diagnose.advice.packages import install_fix, reinstall_packages
from gpudoctor.diagnose.advice.same_release import reinstall_framework
from gpudoctor.diagnose.advice.shell import prepend_library_path
from gpudoctor.diagnose.missing_libraries import missing_libraries_on_disk, missing_library_names
from gpudoctor.diagnose.rules.libraries.planned import install_framework_with_extra, known_release_row, packages_in_extra
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Fix, FixKind
from gpudoctor.findings.wording import few_names, joined_words
from gpudoctor.matrix.tables import CUDA
from gpudoctor.snapshot import LibraryUse, Missing, Platform

_PACKAGES_SINCE = 11
"""The first CUDA of whose libraries NVIDIA publishes Python packages for all frameworks: nvidia-cublas-cu11."""


def install_missing_libraries(framework: FrameworkView, lost: tuple[LibraryUse, ...]) -> tuple[Fix, ...]:
    """Return fixes that install the libraries as packages, or reinstall packages whose files are gone."""
    machine, spec = framework.machine, framework.spec
    if framework.debian_package:
        command = f"sudo apt-get install --reinstall {framework.debian_package}"
        return (Fix(f"Reinstall {framework.debian_package}", command, (ROOT, DOWNLOAD)),)
    broken = installed_wheels(lost, framework.cuda_or_missing, framework.environment.stack_or_missing)
    if broken:
        wheels = tuple({wheel.name: wheel for _, wheel in broken}.values())
        title = f"Reinstall {' and '.join(wheel.name for wheel in wheels)}, whose files are missing"
        again = reinstall_packages(title, machine.observed.python, *wheels)
        covered = {use for use, _ in broken}
        rest = tuple(use for use in lost if use not in covered)
        return (again, *install_missing_libraries(framework, rest)) if rest else (again,)
    if not installed_by_conda(machine, framework.name):
        if spec.gpu_extra:
            return _install_extra(framework, lost)
        if spec.wheel_index:
            return _install_required_wheels(framework, lost) or (reinstall_framework(framework),)
    return install_framework(machine, framework.name, near=framework.release)


def _install_required_wheels(framework: FrameworkView, lost: tuple[LibraryUse, ...]) -> tuple[Fix, ...]:
    """Return the fix that installs the wheels that the framework's metadata requires and that are absent, if they have the libraries."""
    machine = framework.machine
    wanted = required_wheels(lost, framework.cuda_or_missing, framework.environment.stack_or_missing, framework.observed.distribution)
    if not wanted:
        return ()
    title = f"Install {few_names([one.name for one in wanted])}, which {framework.label} requires"
    pins = (f"{one.name}{one.specifier}" for one in wanted)
    return (install_fix(title, machine.observed.python, *pins), reinstall_framework(framework, kind=FixKind.ELSE))


def add_library_folder(machine: MachineView, cause: str) -> tuple[Fix, ...]:
    """Return the fix that lets the loader search the folder in which a text shows a missing library; what usually fixes the cause if it shows none."""
    for folder, name in missing_libraries_on_disk(machine.log.text):
        if folder.startswith("/"):
            title = f"Add the folder of {name} to {LIBRARY_PATH}, for this environment only"
            return (Fix(title, prepend_library_path(folder.rstrip("/")), action=Action.INVESTIGATE),)
    return usual_fixes(machine, cause)


def install_libraries(machine: MachineView, cause: str) -> Iterator[Fix]:
    """Yield the fixes of a cause that only a log names: how each framework that the text states gets its libraries."""
    builds = [(framework, cuda) for framework in machine.frameworks if isinstance(cuda := framework.cuda_or_missing, EffectiveCuda)]
    for framework, cuda in builds:
        row = known_release_row(framework)
        if row is not None and packages_in_extra(framework, row):
            yield from install_framework_with_extra(framework, row)
        elif framework.spec.brings_cuda:
            yield from install_missing_libraries(framework, ())
        else:
            yield _install_cuda(framework, cuda)
            yield from (fix for fix in install_framework(machine, framework.name, kind=FixKind.INSTEAD) if fix.command)
    if not builds:
        yield from _install_older_cuda(machine) or usual_fixes(machine, cause)


def _install_older_cuda(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix that installs the CUDA release whose libraries a text says are missing; () for one of which Python packages have them."""
    wanted = missing_library_names(machine.log.text)
    rows = [row for row in machine.matrix.rows(CUDA) if set(wanted) & set(row.sonames or ())]
    releases = {row.release.short for row in rows}
    if len(releases) != 1 or rows[0].release.major >= _PACKAGES_SINCE:
        return ()
    (cuda,) = releases
    folders = "PATH" if machine.site.platform == Platform.WINDOWS else LIBRARY_PATH
    title = f"Install CUDA {cuda}, whose libraries the program asks for, and add their folders to {folders}; or install a release for the CUDA that is there."
    return (Fix(title, needs=(DOWNLOAD,), action=Action.INVESTIGATE),)


def _install_cuda(framework: FrameworkView, cuda: EffectiveCuda) -> Fix:
    """Return the fix that installs what a build was made with, where no package has it."""
    windows = framework.machine.site.platform == Platform.WINDOWS
    cudnn = "" if isinstance(cuda.cudnn, Missing) else f" and cuDNN {cuda.cudnn.text or cuda.cudnn.short}"
    return Fix(
        f"Install CUDA {cuda.version.short}{cudnn}, with which {framework.label} was built, and add their folders to"
        f" {'PATH' if windows else LIBRARY_PATH}.",
        needs=(DOWNLOAD,),
        action=Action.INSTALL_PACKAGE,
        system_cuda=cuda.version.text or cuda.version.short,
        system_cudnn="" if isinstance(cuda.cudnn, Missing) else str(cuda.cudnn),
    )


def _install_extra(framework: FrameworkView, lost: tuple[LibraryUse, ...]) -> tuple[Fix, ...]:
    machine, spec = framework.machine, framework.spec
    if any(packages_in_extra(framework, row) for row in framework.published):
        name = f"{framework.name}[{spec.gpu_extra}]"
        return (
            install_fix(f"Install {spec.title} with its CUDA libraries ({name})", machine.observed.python, f"{name}=={framework.release}"),
        )
    names = joined_words(dict.fromkeys(use.wanted for use in lost))
    toolkit = Fix(
        f"Install the CUDA toolkit and cuDNN that contain {names}; no Python package has them for this release.", needs=(DOWNLOAD,)
    )
    return (toolkit, *install_framework(machine, framework.name, kind=FixKind.INSTEAD))
