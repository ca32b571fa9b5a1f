"""GD203: driver-too-old."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor import versions
from gpudoctor.derive import Driver, EffectiveCuda, Hardware, MachineView, Site
from gpudoctor.derive.code import Fit, compiles
from gpudoctor.derive.cuda import serves
from gpudoctor.diagnose.advice.driver import update_driver, wanted
from gpudoctor.diagnose.advice.gpu_code import models
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.gpu_facts import first_branch
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Cause, Fact, Framework, Missing


@rule(
    "GD203",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(TRAINING_FAILS, "", Join.FRAMEWORK),
        Explains(("gpu-too-new-for-driver",), ""),
    ),
)
def driver_too_old(
    framework: Framework,
    machine: MachineView,
    effective: EffectiveCuda | Missing,
    driver: Driver | Missing,
    hardware: Hardware,
    site: Site,
) -> Iterator[Problem]:
    """The driver is older than the CUDA that the framework was built with needs.

    ## Why it matters
    A framework brings its own CUDA runtime, and every CUDA release needs a driver of some age. With an older one the runtime
    refuses to start (error 35, "CUDA driver version is insufficient for CUDA runtime version") and the framework uses the CPU.
    Since CUDA 11 one driver floor serves all minor releases of a major one; before, each release had its own. A GPU may need a newer
    driver than the CUDA does: the first branch that knows its generation. And where a build has only PTX for a GPU, the driver must
    serve that CUDA in full, as it is the driver that compiles PTX.

    It is an error where no other framework of the environment could use the GPU, else a warning.

    The "CUDA Version" that nvidia-smi prints is the newest CUDA the driver serves. No toolkit has to be installed for it.

    ## What to do
    Renew the driver, or install a build of the framework for the CUDA that the driver serves.

    ## References
    - https://docs.nvidia.com/deploy/cuda-compatibility/
    - https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
    """
    if isinstance(effective, Missing):
        if effective.cause is Cause.ABSENT:
            not_applicable(effective.reason)
        need(effective)
        return
    if isinstance(driver, Missing):
        if not hardware and driver.cause is Cause.ABSENT:
            not_applicable("there is neither a GPU nor a driver")
        need(driver, Rung.KERNEL_DRIVER)
        return
    if need(serves(driver, effective, site), Rung.KERNEL_DRIVER):
        yield from _older_than_gpu(framework, machine, driver) or _older_than_ptx(framework, machine, driver, effective)
        return
    floor, floor_where = _needed(effective, driver, site)
    served = f", which serves CUDA {driver.cuda_served.short}" if isinstance(driver.cuda_served, versions.Version) else ""
    version = framework.version.value if isinstance(framework.version, Fact) else ""
    yield Problem(
        only_for=framework.name,
        message=f"{framework.name} {version} is built with CUDA {effective.version.short}, which needs {floor}; "
        f"this machine has {driver.version}{served}.",
        evidence=(
            Evidence("CUDA the framework was built with", str(effective.version), effective.where),
            Evidence("driver", str(driver.version), driver.where),
            Evidence("needed", floor, floor_where),
        ),
        fixes=tuple(_ways(framework, machine, effective)),
    )


def _ways(framework: Framework, machine: MachineView, effective: EffectiveCuda) -> Iterator[Fix]:
    """A newer driver where one drives these GPUs, and a build for the CUDA that the driver serves."""
    least = effective.floor if isinstance(effective.floor, versions.Version) else None
    last = wanted(machine).newest_branch
    hopeless = least is not None and last is not None and not machine.site.on_wsl and least.major > last
    found = pick(machine, framework.name)
    if not hopeless:
        on_wsl = f"Update the NVIDIA driver to one that serves CUDA {effective.version.major}" if machine.site.on_wsl else ""
        yield update_driver(machine, least, what=on_wsl)
    if found is not None:
        yield install(machine, framework.name, found, kind=FixKind.FIX if hopeless else FixKind.INSTEAD)
    elif hopeless:
        yield Fix(
            f"Use another GPU: branch {last} is the last driver for this one, and no published {framework.name} with CUDA runs on both."
        )


def _older_than_gpu(framework: Framework, machine: MachineView, driver: Driver) -> tuple[Problem, ...]:
    """The driver serves the CUDA and is older than the first that drives the GPU: of supposed GPUs, a real one would not be driven."""
    behind = {gpu.label: branch for gpu in machine.hardware if (branch := first_branch(gpu, driver, machine.matrix)) is not None}
    if not behind:
        return ()
    label, branch = max(behind.items(), key=lambda item: item[1])
    floor = f"driver branch {branch} or newer"
    served = machine.matrix.driver(driver.version)
    problem = Problem(
        title="The driver is older than the GPU",
        message=f"{label} needs {floor}, whatever CUDA {framework.name} was built with; this machine has {driver.version}.",
        evidence=(
            Evidence("driver", str(driver.version), driver.where),
            Evidence("needed", floor, cited(served.source) if served else ""),
        ),
        fixes=(update_driver(machine, versions.Version(branch, text=str(branch))),),
    )
    return (problem,)


def _older_than_ptx(framework: Framework, machine: MachineView, driver: Driver, effective: EffectiveCuda) -> tuple[Problem, ...]:
    """The driver serves the CUDA's libraries and not its PTX, and the build has nothing else for the GPU."""
    meetings = machine.meetings(framework)
    portable = () if isinstance(meetings, Missing) else meetings.lacking(Fit.PTX)
    if isinstance(meetings, Missing) or not portable or compiles(driver, effective, machine.matrix) is not False:
        return ()
    served = driver.cuda_served.short if isinstance(driver.cuda_served, versions.Version) else "less"
    named = effective.exact_floor if not machine.site.on_wsl else Missing(Cause.UNSUPPORTED, "Windows counts differently")
    on_wsl = f"Update the NVIDIA driver to one that serves CUDA {effective.version.short}"
    floor = f"a driver that serves CUDA {effective.version.short}" + (f" ({named} or newer)" if isinstance(named, versions.Version) else "")
    problem = Problem(
        title="The driver is older than the PTX that it would have to compile",
        severity=Severity.WARNING if bool(meetings.lacking(Fit.NATIVE)) else None,
        only_for=framework.name,
        message=f"{framework.label} has only PTX for {models(portable)}, which takes {floor}; {driver.version} serves CUDA {served}.",
        evidence=(
            Evidence("CUDA that the PTX is of", str(effective.version), effective.where),
            Evidence("driver", f"{driver.version}, CUDA {served}", driver.cuda_where or driver.where),
        ),
        fixes=(
            update_driver(
                machine, named if isinstance(named, versions.Version) else None, what="" if isinstance(named, versions.Version) else on_wsl
            ),
        ),
    )
    return (problem,)


def _needed(effective: EffectiveCuda, driver: Driver, site: Site) -> tuple[str, str]:
    """The driver that it takes, and who says so."""
    if site.on_wsl:
        return f"a Windows driver that serves CUDA {effective.version.major}", driver.cuda_where
    return f"a driver of at least {effective.floor}", effective.floor_where
