"""GD2: kernel driver, device nodes, NVML and libcuda, as far as versions and permissions go."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import Driver, EffectiveCuda, Hardware, MachineView, Site
from gpudoctor.derive import libcuda as files
from gpudoctor.derive.code import Fit, compiles
from gpudoctor.derive.cuda import serves
from gpudoctor.diagnose.build_facts import called, listed
from gpudoctor.diagnose.driver_fixes import install_driver, wanted
from gpudoctor.diagnose.fixes import ROOT, reboot, shell_path
from gpudoctor.diagnose.gpu_facts import first_branch
from gpudoctor.diagnose.installing import install
from gpudoctor.diagnose.kernel_facts import kept_out, undriven
from gpudoctor.diagnose.releases import pick
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix.cite import cited
from gpudoctor.snapshot import Cause, Fact, Framework, KernelDriver, KernelModules, Libcuda, Missing, Nvml, Pci, PciDevice, Status


@rule("GD201", severity=Severity.ERROR, breaks=Rung.KERNEL_DRIVER, since="0.1")
def no_driver(
    pci: Pci, kernel_driver: KernelDriver | Missing, nvml: Nvml | Missing, modules: KernelModules | Missing, machine: MachineView
) -> Iterator[Problem]:
    """An NVIDIA GPU is on the PCI bus and no NVIDIA kernel driver is loaded.

    ## Why it matters
    Everything above the PCI bus goes through the kernel driver: device nodes, NVML, CUDA, every framework. Without it NVML says
    "Driver Not Loaded", CUDA says "no CUDA-capable device is detected", and frameworks fall back to the CPU, mostly in silence.

    ## What to do
    Where the driver's libraries are installed, load the module; if that fails it was not built for the running kernel, is blocked
    by Secure Boot, or another driver holds the GPU, and the kernel's log says which. Where nothing is installed, install the
    driver. In a container, do this on the host.

    ## References
    - https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    """
    mine = undriven(pci, kernel_driver, machine.site)
    if not mine:
        return
    installed = isinstance(nvml, Nvml)
    state = "its libraries are installed, but the kernel module is not loaded" if installed else "none is loaded"
    blocked = kept_out(modules, "nvidia")
    load = Fix("Load the module; if that fails, the message says why", "sudo modprobe nvidia", (ROOT,))
    again = msgspec.structs.replace(install_driver(machine), kind=FixKind.ELSE)
    yield Problem(
        message=f"{len(mine)} NVIDIA {'GPU' if len(mine) == 1 else 'GPUs'} on the PCI bus and no NVIDIA driver at work: {state}.",
        evidence=(
            Evidence("NVIDIA kernel driver", "not loaded", "/proc/driver/nvidia/version, /sys/module/nvidia"),
            *(_binding(device) for device in mine[:1]),
            *_nvml_said(nvml),
            *blocked,
        ),
        fixes=(*_allow(blocked), load, again) if installed and not machine.site.container else (install_driver(machine),),
    )


def _allow(blocked: tuple[Evidence, ...]) -> tuple[Fix, ...]:
    """How to take out the lines that keep the module from being loaded; each is commented out."""
    files = dict.fromkeys(one.value for one in blocked)
    return tuple(
        Fix(
            f"Let the nvidia module load: comment out the line in {file}",
            f"sudo sed -i -E 's/^[[:space:]]*(blacklist|install|alias)[[:space:]]+nvidia([[:space:]]|$)/# &/' {shell_path(file)}",
            (ROOT,),
        )
        for file in files
    )


def _binding(device: PciDevice) -> Evidence:
    bound = device.driver if isinstance(device.driver, str) else device.driver.reason
    return Evidence("driver bound to the GPU", bound, f"/sys/bus/pci/devices/{device.address}/driver")


def _nvml_said(nvml: Nvml | Missing) -> tuple[Evidence, ...]:
    if isinstance(nvml, Missing):
        return (Evidence("NVML", nvml.reason, "libnvidia-ml.so.1"),)
    if isinstance(nvml.init, Status):
        return (Evidence("nvmlInit", f"{nvml.init.code} {nvml.init.text}", _library(nvml)),)
    return ()


def _library(section: Nvml | Libcuda) -> str:
    return section.library if isinstance(section.library, str) else "the driver's library"


_RM_MISMATCH, _SYSTEM_DRIVER_MISMATCH = 18, 803


@rule("GD202", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1")
def driver_library_mismatch(
    nvml: Nvml | Missing, libcuda: Libcuda | Missing, kernel_driver: KernelDriver | Missing, site: Site
) -> Iterator[Problem]:
    """The loaded kernel driver and the driver's libraries are of different versions.

    ## Why it matters
    Kernel module and libraries are one product in two halves that must be the same release. An upgrade replaces the files at once,
    but the old module stays in the kernel until it is unloaded; from then on NVML and CUDA refuse to start.

    ## What to do
    Reboot: then the module of the installed release is loaded. Reinstalling the driver does not help, the files are in order.
    Without a reboot: end every process that uses the GPU, unload the modules and load them again. To keep it from happening during
    work, hold the driver's packages back from unattended upgrades.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html
    """
    if isinstance(nvml, Missing) and isinstance(libcuda, Missing):
        if nvml.cause is libcuda.cause is Cause.ABSENT:
            not_applicable("the loader finds no library of the driver")
        need(nvml if nvml.cause is not Cause.ABSENT else libcuda, Rung.NVML)
    module = _module_version(kernel_driver)
    library = _library_version(nvml)
    said = _code(nvml) == _RM_MISMATCH
    cuda_said = _code(libcuda) == _SYSTEM_DRIVER_MISMATCH and bool(module and library and module != library)
    if not (said or cuda_said):
        yield from _two_installations(libcuda, module)
        return
    where = "NVML" if said else "cuInit"
    restart = Fix("Restart the container so that it is given the host's current libraries; if that does not help, reboot the host.")
    reload = Fix(
        "Without a reboot: end every process that uses the GPU, then reload the modules",
        "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia; sudo modprobe nvidia",
        (ROOT,),
        kind=FixKind.INSTEAD,
    )
    yield Problem(
        message=f"{where} reports that the kernel driver ({module or 'version not readable'}) and its libraries "
        f"({library or 'version not readable'}) do not match; the driver was most likely upgraded without a reboot.",
        evidence=(
            *_nvml_said(nvml),
            Evidence("version of the loaded kernel module", module or "not readable", "/proc/driver/nvidia/version"),
            Evidence("version of the libraries", library or "not readable", _library(nvml) if isinstance(nvml, Nvml) else "NVML"),
        ),
        fixes=(restart,) if site.container else (reboot("Reboot: this loads the module of the installed driver"), reload),
    )


def _two_installations(libcuda: Libcuda | Missing, module: str) -> Iterator[Problem]:
    """NVML fits the kernel driver and libcuda does not: files of two installations lie side by side."""
    path = files.path(libcuda)
    release = files.release(path)
    if _code(libcuda) != _SYSTEM_DRIVER_MISMATCH or not module or not release or release.text == module or files.is_compat(path):
        return
    yield Problem(
        message=f"cuInit answers 803: the loader takes {path}, of driver {release.text}, and the kernel driver is {module}. "
        "Two installations of the driver are mixed.",
        evidence=(
            Evidence("libcuda that was loaded", path, "/proc/self/maps"),
            Evidence("version of the loaded kernel module", module, "/proc/driver/nvidia/version"),
        ),
        fixes=(
            Fix(
                f"Move libcuda of driver {release} out of the loader's way",
                f"sudo mv {shell_path(path)} {shell_path(f'{path}.disabled')} && sudo ldconfig",
                (ROOT,),
            ),
            Fix(
                "If NVIDIA's own installer put it there, remove that driver as a whole",
                "sudo nvidia-uninstall",
                (ROOT,),
                kind=FixKind.INSTEAD,
            ),
        ),
    )


def _code(section: Nvml | Libcuda | Missing) -> int:
    return section.init.code if isinstance(section, Nvml | Libcuda) and isinstance(section.init, Status) else 0


def _module_version(section: KernelDriver | Missing) -> str:
    return section.version.value if isinstance(section, KernelDriver) and isinstance(section.version, Fact) else ""


def _library_version(nvml: Nvml | Missing) -> str:
    """The driver release of libnvidia-ml: NVML's own version is the CUDA major, a dot, and the release ("12.550.163.01")."""
    if isinstance(nvml, Missing) or isinstance(nvml.nvml_version, Missing):
        return ""
    return nvml.nvml_version.partition(".")[2]


@rule("GD203", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK)
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
        yield install_driver(machine, least, what=on_wsl)
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
        fixes=(install_driver(machine, versions.Version(branch, text=str(branch))),),
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
        message=f"{called(framework)} has only PTX for {listed(portable)}, which takes {floor}; {driver.version} serves CUDA {served}.",
        evidence=(
            Evidence("CUDA that the PTX is of", str(effective.version), effective.where),
            Evidence("driver", f"{driver.version}, CUDA {served}", driver.cuda_where or driver.where),
        ),
        fixes=(
            install_driver(
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


RULES = (no_driver, driver_library_mismatch, driver_too_old)
