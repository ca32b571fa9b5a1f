"""The facts of an examined machine that decide between releases."""

from __future__ import annotations

from gpudoctor import versions
from gpudoctor.derive import Driver, MachineView, wheel_platform
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_machine import NOT_STATED, AssumedMachine
from gpudoctor.plan.checker import ASSUMED_POLICY
from gpudoctor.snapshot import Fact, Host, KernelDriver, Missing, Nvml, NvmlGpu, Platform, Snapshot, Supposed
from gpudoctor.versions import Version

_PLATFORM_NAMES = {Platform.WSL2: "WSL 2", Platform.WSL1: "WSL 1", Platform.JETSON: "Jetson Linux"}


def examined_machine(snapshot: Snapshot, matrix: Matrix) -> AssumedMachine:
    """Return platform, GPUs and driver of an examined machine; a machine without a GPU has an empty list of them."""
    view = MachineView(snapshot, matrix, ASSUMED_POLICY)
    host = snapshot.host if isinstance(snapshot.host, Host) else Host(platform=Platform.LINUX)
    gpus = tuple(gpu for gpu in view.gpus if gpu.usable) or view.gpus
    driver = view.driver_or_missing
    described = tuple(
        NvmlGpu(index=index, address=NOT_STATED, name=gpu.model, compute_capability=_capability_text(gpu.capability_or_missing))
        for index, gpu in enumerate(gpus)
    )
    system = _PLATFORM_NAMES.get(host.platform, "Linux") if isinstance(host.platform, Platform) else "Linux"
    said = [Supposed("machine", f"{system} {host.architecture}", "this machine")]
    said += [Supposed("GPU", _gpu_text(gpu), "this machine") for gpu in described] or [Supposed("GPU", "none", "this machine")]
    if isinstance(driver, Driver):
        said.append(Supposed("driver", str(driver.version), driver.where))
    return AssumedMachine(
        platform=wheel_platform.platform_name(host, NOT_STATED)
        or (wheel_platform.LINUX_X86_64 if isinstance(host.architecture, Missing) else ""),
        host=host,
        python=NOT_STATED,
        nvml=Nvml(gpus=described),
        kernel_driver=KernelDriver(version=Fact(str(driver.version), driver.where)) if isinstance(driver, Driver) else NOT_STATED,
        toolkits=NOT_STATED,
        system_cudnn=NOT_STATED,
        libc=_libc_of_snapshot(snapshot),
        supposed=tuple(said),
    )


def is_without_driver(machine: AssumedMachine) -> bool:
    """Return whether an examined machine has a GPU and no driver loaded."""
    return isinstance(machine.nvml, Nvml) and bool(machine.nvml.gpus) and isinstance(machine.kernel_driver, Missing)


def python_of_snapshot(snapshot: Snapshot) -> str:
    """Return the version of the examined interpreter, "3.12"; empty if unknown."""
    text = "" if isinstance(snapshot.python, Missing) else snapshot.python.version
    version = versions.parse_version(text) if isinstance(text, str) else None
    return version.short if version is not None else ""


def _libc_of_snapshot(snapshot: Snapshot) -> str:
    libc = "" if isinstance(snapshot.python, Missing) else snapshot.python.libc
    return libc if isinstance(libc, str) else ""


def _capability_text(capability: Version | Missing) -> str | Missing:
    return capability if isinstance(capability, Missing) else capability.short


def _gpu_text(gpu: NvmlGpu) -> str:
    known = f", compute capability {gpu.compute_capability}" if isinstance(gpu.compute_capability, str) else ""
    return f"{gpu.name}{known}"
