"""The summary of a machine: its GPUs, driver, frameworks and Python at a glance."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.views.framework import FrameworkView
from gpudoctor.derive.views.machine import MachineView
from gpudoctor.findings.summary import FrameworkBuild, GpuModel, Summary
from gpudoctor.snapshot import Cause, Container, CudaDevice, Host, KernelDriver, Missing, NvmlGpu, Pci, Python

_Value = TypeVar("_Value", str, int)


def machine_summary(machine: MachineView) -> Summary:
    """The main facts about `machine`."""
    seen = machine.observed
    host = seen.host if isinstance(seen.host, Host) else Host()
    python = seen.python if isinstance(seen.python, Python) else Python(executable="", why="")
    driver = machine.driver_or_missing
    cuda = driver if isinstance(driver, Missing) else driver.cuda_served
    return Summary(
        gpus=_gpu_models(machine),
        driver=_driver_version(machine),
        cuda=None if isinstance(cuda, Missing) else str(cuda),
        frameworks=None if isinstance(seen.frameworks, Missing) else tuple(map(_framework_build, machine.frameworks)),
        python=_value_or_none(python.version),
        environment=_value_or_none(python.kind),
        platform=None if isinstance(host.platform, Missing) else str(host.platform),
        os=" ".join(filter(None, map(_value_or_none, (host.distribution, host.distribution_version)))) or None,
        kernel=_value_or_none(host.kernel),
        architecture=_value_or_none(host.architecture),
        container=seen.container.runtime if isinstance(seen.container, Container) else _empty_if_absent(seen.container),
    )


def _value_or_none(value: _Value | Missing) -> _Value | None:
    return None if isinstance(value, Missing) else value


def _empty_if_absent(missing: Missing) -> str | None:
    return "" if missing.cause is Cause.ABSENT else None


def _driver_version(machine: MachineView) -> str | None:
    """The loaded driver's version, empty if none is loaded; only a GPU on a PCI bus needs a kernel module."""
    driver, module = machine.driver_or_missing, machine.observed.kernel_driver
    if not isinstance(driver, Missing):
        return str(driver.version)
    version = module.version if isinstance(module, KernelDriver) else module
    return _empty_if_absent(version) if machine.site.has_pci and isinstance(version, Missing) else None


def _gpu_models(machine: MachineView) -> tuple[GpuModel, ...] | None:
    hardware = [gpu for gpu in machine.hardware if not gpu.assumed]
    if not hardware and not (machine.site.has_pci and isinstance(machine.observed.pci, Pci)):
        return None
    counts = Counter((_value_or_none(gpu.name) or "", _total_memory(gpu)) for gpu in hardware)
    return tuple(GpuModel(model, count, memory) for (model, memory), count in counts.items())


def _total_memory(gpu: Gpu) -> int | None:
    """A GPU's memory in bytes by NVML, which sees the whole card, otherwise by CUDA."""
    layers = (gpu.nvml, gpu.cuda_unmasked, gpu.cuda)
    totals = (layer.memory_total for layer in layers if isinstance(layer, NvmlGpu | CudaDevice))
    return next((total for total in totals if isinstance(total, int)), None)


def _framework_build(framework: FrameworkView) -> FrameworkBuild:
    found, version = framework.cuda_or_missing, framework.observed.version
    return FrameworkBuild(
        name=framework.name,
        rocm=framework.observed.rocm_build is True,
        version=None if isinstance(version, Missing) else version.value,
        cuda=_empty_if_absent(found) if isinstance(found, Missing) else str(found.version),
        cudnn=None if isinstance(found, Missing) or isinstance(found.cudnn, Missing) else str(found.cudnn),
    )
