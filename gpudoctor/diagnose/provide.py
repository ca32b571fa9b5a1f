"""Hands each rule what it asks for, by type: sections of the snapshot and effective facts."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, Gpu, Hardware, Ladder, MachineView, Meetings, Site, Stack, Visibility
from gpudoctor.diagnose.rule import CouldNotTell, NotApplicable, Parameter
from gpudoctor.findings import Policy, Rung
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    NOT_ASKED,
    Allocation,
    Cause,
    Container,
    ContainerTools,
    CudaContext,
    CudaFiles,
    Details,
    DeviceNodes,
    FabricManager,
    FabricParts,
    Framework,
    Host,
    KernelDriver,
    KernelLog,
    KernelModules,
    Libcuda,
    Limits,
    LoaderCache,
    Missing,
    Mps,
    Nvml,
    Packages,
    Pci,
    Python,
    ScriptFolder,
    Smoke,
    Snapshot,
    Variables,
    Wsl,
)

About = Gpu | Framework | None
"""What one run of a rule is about; None for machine and environment."""


def _smoke(machine: MachineView, about: About) -> object:
    """The smoke training of the framework that the rule is about."""
    trained = machine.observed.smoke
    if isinstance(trained, Missing):
        return trained
    return next((smoke for smoke in trained if isinstance(about, Framework) and smoke.framework == about.name), NOT_ASKED)


def _context(machine: MachineView, about: About) -> object:
    """What our own kernel met on the GPU that the rule is about."""
    contexts = machine.observed.contexts
    if isinstance(contexts, Missing):
        return contexts
    found = (context for context in contexts if isinstance(about, Gpu) and context.address == about.key)
    context = next(found, Missing(Cause.NOT_ASKED, "CUDA does not show this GPU"))
    skipped = isinstance(context, CudaContext) and context.skipped
    return Missing(Cause.NOT_ASKED, skipped) if skipped else context


def _effective_cuda(machine: MachineView, about: About) -> object:
    view = machine.framework(about.name) if isinstance(about, Framework) else None
    return view.cuda_or_missing if view else None


def _effective_code(machine: MachineView, about: About) -> object:
    view = machine.framework(about.name) if isinstance(about, Framework) else None
    return view.code_or_missing if view else None


def _meetings(machine: MachineView, about: About) -> object:
    view = machine.framework(about.name) if isinstance(about, Framework) else None
    return view.meetings_or_missing if view else None


PROVIDERS: dict[type, tuple[Callable[[MachineView, About], object], Rung | None]] = {
    Snapshot: (lambda machine, _: machine.observed, None),
    Host: (lambda machine, _: machine.observed.host, None),
    Details: (lambda machine, _: machine.observed.details, None),
    Python: (lambda machine, _: machine.observed.python, None),
    Pci: (lambda machine, _: machine.observed.pci, Rung.SLOT),
    KernelDriver: (lambda machine, _: machine.observed.kernel_driver, Rung.KERNEL_DRIVER),
    KernelLog: (lambda machine, _: machine.observed.kernel_log, None),
    KernelModules: (lambda machine, _: machine.observed.kernel_modules, None),
    FabricParts: (lambda machine, _: machine.observed.fabric_parts, None),
    FabricManager: (lambda machine, _: machine.observed.fabric_manager, None),
    Packages: (lambda machine, _: machine.observed.packages, None),
    ScriptFolder: (lambda machine, _: machine.observed.script_folder, None),
    DeviceNodes: (lambda machine, _: machine.observed.device_nodes, Rung.DEVICE_NODE),
    Container: (lambda machine, _: machine.observed.container, None),
    ContainerTools: (lambda machine, _: machine.observed.container_tools, None),
    LoaderCache: (lambda machine, _: machine.observed.loader_cache, None),
    Limits: (lambda machine, _: machine.observed.limits, None),
    Allocation: (lambda machine, _: machine.observed.allocation, None),
    Wsl: (lambda machine, _: machine.observed.wsl, None),
    Nvml: (lambda machine, _: machine.observed.nvml, Rung.NVML),
    Libcuda: (lambda machine, _: machine.observed.libcuda, Rung.LIBCUDA),
    CudaFiles: (lambda machine, _: machine.observed.cuda_files, None),
    CudaContext: (_context, Rung.LIBCUDA),
    Mps: (lambda machine, _: machine.observed.mps, None),
    Variables: (lambda machine, _: machine.observed.variables, None),
    Smoke: (_smoke, Rung.FRAMEWORK),
    Driver: (lambda machine, _: machine.driver_or_missing, Rung.KERNEL_DRIVER),
    Visibility: (lambda machine, _: machine.visibility_or_missing, Rung.LIBCUDA),
    Site: (lambda machine, _: machine.site, None),
    Hardware: (lambda machine, _: machine.hardware, None),
    Ladder: (lambda machine, _: machine.ladder, None),
    Policy: (lambda machine, _: machine.policy, None),
    Matrix: (lambda machine, _: machine.matrix, None),
    Stack: (lambda machine, _: machine.stack_or_missing, None),
    MachineView: (lambda machine, _: machine, None),
    Gpu: (lambda _, about: about, None),
    Framework: (lambda _, about: about, None),
    EffectiveCuda: (_effective_cuda, None),
    EffectiveCode: (_effective_code, None),
    Meetings: (_meetings, None),
}
"""What a rule may ask for, and the rung whose failure explains that it is missing."""


def argument(parameter: Parameter, machine: MachineView, about: About) -> object:
    """The value for one parameter; ends the rule where it is needed and missing, or where it does not exist for this subject."""
    provide, rung = PROVIDERS[parameter.type]
    value = provide(machine, about)
    if parameter.optional:
        return value
    if isinstance(value, Missing):
        raise CouldNotTell(value, rung)
    if value is None:
        raise NotApplicable(f"no {parameter.name} here")
    return value
