from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, FrameworkView, MachineView, known, not_applicable
from gpudoctor.derive.cuda import serves
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import Fit, compiles
from gpudoctor.diagnose.advice.asked_for import other_release
from gpudoctor.diagnose.advice.driver import floor_of_builds, update_driver
from gpudoctor.diagnose.advice.driver_packages import driver_bounds
from gpudoctor.diagnose.advice.environments import new_environment
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.advice.installing import install, install_framework
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Missing
from gpudoctor.versions import Version


def _advice(machine: MachineView) -> tuple[Fix, ...]:
    """Return the update to the oldest driver that serves what the text states, or to a newer one."""
    floor, loaded = floor_of_builds(machine), machine.driver_or_missing
    if isinstance(loaded, Driver) and floor is not None and loaded.version >= floor:
        floor = None  # what fails is of a newer CUDA than the builds that the text names
    return (update_driver(machine, floor, title="" if floor else "Update the NVIDIA driver"),)


@rule("GD203", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, impact=Impact.PARTLY)
@advises(_advice)
@explains(TRAINING_FAILS, "The framework's CUDA runtime refuses to start on an older driver.", Join.FRAMEWORK)
@explains(("gpu-too-new-for-driver",), "A driver older than the GPU's generation does not know it.")
def driver_too_old(framework: FrameworkView) -> Problems:
    """Driver is too old for the framework's CUDA version."""
    machine, cuda, driver = framework.machine, framework.cuda, framework.machine.driver
    if framework.observed.sees_gpu is True:
        not_applicable(f"{framework.name} can use the GPU with this driver, so newer libraries of cuda-compat are loaded")
    if known(serves(driver, cuda, machine.site), Rung.KERNEL_DRIVER):
        yield from _older_than_gpu(framework) or _older_than_ptx(framework)
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
    helps = not hopeless and not _is_for_newer_gpus(framework)
    if helps:
        on_wsl = f"Update the NVIDIA driver to one that supports CUDA {cuda.version.major}" if machine.site.on_wsl else ""
        yield update_driver(machine, floor, title=on_wsl)
    kind = FixKind.INSTEAD if helps else FixKind.FIX
    if other := other_release(machine, framework.name, kind):
        yield from (fix for fix in other if fix.command or not helps)
        return
    release = pick(machine, framework.name)
    other_python = pick(machine, framework.name, any_python=True) if release is None else None
    if release is not None:
        yield install(machine, framework.name, release, kind=kind)
    elif other_python is not None and other_python.pythons:
        yield new_environment(machine, other_python, kind=kind)
    elif hopeless:
        title = f"Use another GPU: branch {last} is the last driver for this one, and no published {framework.name} build with CUDA supports both."
        fixes = install_framework(machine, framework.name)
        nothing_works = any(fix.action is Action.REPLACE_HARDWARE for fix in fixes)
        yield from (Fix(title, action=Action.REPLACE_HARDWARE),) if nothing_works else fixes
    elif not helps:
        yield from install_framework(machine, framework.name)


def _is_for_newer_gpus(framework: FrameworkView) -> bool:
    """Return whether the build has no kernels for a GPU that is too old for it: with any driver, only another build helps."""
    meetings = framework.meetings_or_missing
    return not isinstance(meetings, Missing) and bool(meetings.lacking(Fit.TOO_OLD))


def _older_than_gpu(framework: FrameworkView) -> tuple[Problem, ...]:
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
            Evidence("needed", f"driver branch {branch} or newer", cited(row.source) if row else ""),
        ),
        fixes=(update_driver(machine, Version(branch, text=str(branch))),),
    )
    return (problem,)


def _older_than_ptx(framework: FrameworkView) -> tuple[Problem, ...]:
    """Return the problem of a driver that supports the CUDA version but not its PTX, where the build has nothing else for the GPU."""
    machine, cuda, driver = framework.machine, framework.cuda, framework.machine.driver
    meetings = framework.meetings_or_missing
    if isinstance(meetings, Missing) or compiles(driver, cuda, machine.matrix) is not False:
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
        message=f"{framework.label} has only PTX for {models(portable)}, which needs {needed}"
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
