from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, FrameworkView, MachineView, not_applicable, require_known
from gpudoctor.derive.cuda import is_driver_new_enough
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import Fit, compiles_ptx
from gpudoctor.diagnose.advice.driver import driver_floor_for_builds, update_driver
from gpudoctor.diagnose.advice.driver_packages import driver_bounds
from gpudoctor.diagnose.advice.environments import create_environment
from gpudoctor.diagnose.advice.gpu_code import models_text
from gpudoctor.diagnose.advice.installing import install_framework, install_pick
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.advice.requested_packages import replace_requested_package
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.matrix.citations import citation
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version


def _update_for_text(machine: MachineView) -> tuple[Fix, ...]:
    """Return the update to the oldest driver that serves what the text states, or to a newer one."""
    floor, loaded = driver_floor_for_builds(machine), machine.driver_or_missing
    if isinstance(loaded, Driver) and floor is not None and loaded.version >= floor:
        floor = None  # what fails is of a newer CUDA than the builds that the text names
    return (update_driver(machine, floor, title="" if floor else "Update the NVIDIA driver"),)


@rule("GD203", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY)
@advises(_update_for_text)
@explains(TRAINING_FAILS, "The framework's CUDA runtime refuses to start on an older driver.", Join.FRAMEWORK)
@explains(("gpu-too-new-for-driver",), "A driver older than the GPU's generation does not know it.")
def driver_too_old(framework: FrameworkView) -> Problems:
    """Driver is too old for the framework's CUDA version."""
    machine, cuda, driver = framework.machine, framework.cuda, framework.machine.driver
    if framework.observed.sees_gpu is True:
        not_applicable(f"{framework.name} can use the GPU with this driver, so newer libraries of cuda-compat are loaded")
    if require_known(is_driver_new_enough(driver, cuda, machine.site), Rung.KERNEL_DRIVER):
        yield from _gpu_problems(framework) or _ptx_problems(framework)
        return
    floor, where = (f"{cuda.floor} or newer", cuda.floor_where)
    if machine.site.on_wsl:
        floor, where = f"a Windows driver that supports CUDA {cuda.version.major}", driver.cuda_where
    served = f" (CUDA {driver.cuda_served.short})" if isinstance(driver.cuda_served, Version) else ""
    yield Problem(
        only_for=framework.name,
        message=f"Driver {driver.version}{served} is too old for CUDA {cuda.version.short} of {framework.label} (needs {floor}).",
        evidence=(
            Evidence("CUDA version of the framework", str(cuda.version), cuda.where),
            Evidence("driver", str(driver.version), driver.where),
            Evidence("needed", floor, where),
        ),
        fixes=tuple(_fixes(framework, cuda)),
    )


def _fixes(framework: FrameworkView, cuda: EffectiveCuda) -> Iterator[Fix]:
    """Yield the fixes: a newer driver where one supports these GPUs, and a build for the CUDA version that the driver supports."""
    machine = framework.machine
    floor = cuda.floor if isinstance(cuda.floor, Version) else None
    last = driver_bounds(machine).newest_branch
    hopeless = floor is not None and last is not None and not machine.site.on_wsl and floor.major > last
    helps = not hopeless and not _lacks_older_kernels(framework)
    if helps:
        on_wsl = f"Update the NVIDIA driver to one that supports CUDA {cuda.version.major}" if machine.site.on_wsl else ""
        yield update_driver(machine, floor, title=on_wsl)
    kind = FixKind.INSTEAD if helps else FixKind.FIX
    if other := replace_requested_package(machine, framework.name, kind):
        yield from (fix for fix in other if fix.command or not helps)
        return
    release = pick_release(machine, framework.name)
    other_python = pick_release(machine, framework.name, any_python=True) if release is None else None
    if release is not None:
        yield install_pick(machine, framework.name, release, kind=kind)
    elif other_python is not None and other_python.pythons:
        yield create_environment(machine, other_python, kind=kind)
    elif hopeless:
        title = f"Use another GPU: branch {last} is the last driver for this one, and no published {framework.name} build with CUDA supports both."
        fixes = install_framework(machine, framework.name)
        nothing_works = any(fix.action is Action.REPLACE_HARDWARE for fix in fixes)
        yield from (Fix(title, action=Action.REPLACE_HARDWARE),) if nothing_works else fixes
    elif not helps:
        yield from install_framework(machine, framework.name)


def _lacks_older_kernels(framework: FrameworkView) -> bool:
    """Return whether the build has no kernels for a GPU that is too old for it: with any driver, only another build helps."""
    meetings = framework.gpu_fits_or_missing
    return not isinstance(meetings, Missing) and bool(meetings.lacking(Fit.TOO_OLD))


def _gpu_problems(framework: FrameworkView) -> tuple[Problem, ...]:
    """Return the problem of a driver that supports the CUDA version but not a described GPU; it would not bind a real one."""
    machine, driver = framework.machine, framework.machine.driver
    first_branches = {gpu.label: gpu.needed_branch for gpu in machine.gpus}
    behind = {label: branch for label, branch in first_branches.items() if branch is not None}
    if not behind:
        return ()
    label, branch = max(behind.items(), key=lambda item: item[1])
    row = machine.matrix.driver(driver.version)
    problem = Problem(
        title="Driver is too old for the GPU",
        message=f"Driver {driver.version} is too old for {label} (needs branch {branch} or newer, with any build of {framework.name}).",
        evidence=(
            Evidence("driver", str(driver.version), driver.where),
            Evidence("needed", f"driver branch {branch} or newer", citation(row.source) if row else ""),
        ),
        fixes=(update_driver(machine, Version(branch, text=str(branch))),),
    )
    return (problem,)


def _ptx_problems(framework: FrameworkView) -> tuple[Problem, ...]:
    """Return the problem of a driver that supports the CUDA version but not its PTX, where the build has nothing else for the GPU."""
    machine, cuda, driver = framework.machine, framework.cuda, framework.machine.driver
    meetings = framework.gpu_fits_or_missing
    if isinstance(meetings, Missing) or compiles_ptx(driver, cuda, machine.matrix) is not False:
        return ()
    portable = meetings.lacking(Fit.PTX)
    if not portable:
        return ()
    served = driver.cuda_served.short if isinstance(driver.cuda_served, Version) else "less"
    floor = cuda.exact_floor if isinstance(cuda.exact_floor, Version) and not machine.site.on_wsl else None
    needed = f"a driver that supports CUDA {cuda.version.short}"
    problem = Problem(
        title="Driver is too old for the framework's PTX",
        severity=Severity.WARNING if meetings.lacking(Fit.NATIVE) else None,
        only_for=framework.name,
        message=f"{framework.label} has only PTX for {models_text(portable)}, which needs {needed}"
        + (f" ({floor} or newer)" if floor else "")
        + f"; driver {driver.version} supports CUDA {served}.",
        evidence=(
            Evidence("CUDA version of the PTX", str(cuda.version), cuda.where),
            Evidence("driver", f"{driver.version}, CUDA {served}", driver.cuda_where or driver.where),
        ),
        fixes=(
            update_driver(
                machine, floor, title="" if floor else f"Update the NVIDIA driver to one that supports CUDA {cuda.version.short}"
            ),
        ),
    )
    return (problem,)
