"""Hands each rule what it asks for, by type: sections of the snapshot and effective facts."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.derive import Driver, EffectiveCode, EffectiveCuda, Facts, Gpu, Hardware, Ladder, Meetings, Site, Stack, Visibility
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


def _smoke(facts: Facts, about: About) -> object:
    """The smoke training of the framework that the rule is about."""
    trained = facts.snapshot.smoke
    if isinstance(trained, Missing):
        return trained
    return next((smoke for smoke in trained if isinstance(about, Framework) and smoke.framework == about.name), NOT_ASKED)


def _context(facts: Facts, about: About) -> object:
    """What our own kernel met on the GPU that the rule is about."""
    contexts = facts.snapshot.contexts
    if isinstance(contexts, Missing):
        return contexts
    found = (context for context in contexts if isinstance(about, Gpu) and context.address == about.key)
    context = next(found, Missing(Cause.NOT_ASKED, "CUDA does not show this GPU"))
    skipped = isinstance(context, CudaContext) and context.skipped
    return Missing(Cause.NOT_ASKED, skipped) if skipped else context


def _effective_cuda(facts: Facts, about: About) -> object:
    return facts.effective_cuda(about) if isinstance(about, Framework) else None


def _effective_code(facts: Facts, about: About) -> object:
    return facts.effective_code(about) if isinstance(about, Framework) else None


def _meetings(facts: Facts, about: About) -> object:
    return facts.meetings(about) if isinstance(about, Framework) else None


PROVIDERS: dict[type, tuple[Callable[[Facts, About], object], Rung | None]] = {
    Snapshot: (lambda facts, _: facts.snapshot, None),
    Host: (lambda facts, _: facts.snapshot.host, None),
    Details: (lambda facts, _: facts.snapshot.details, None),
    Python: (lambda facts, _: facts.snapshot.python, None),
    Pci: (lambda facts, _: facts.snapshot.pci, Rung.SLOT),
    KernelDriver: (lambda facts, _: facts.snapshot.kernel_driver, Rung.KERNEL_DRIVER),
    KernelLog: (lambda facts, _: facts.snapshot.kernel_log, None),
    KernelModules: (lambda facts, _: facts.snapshot.kernel_modules, None),
    FabricParts: (lambda facts, _: facts.snapshot.fabric_parts, None),
    FabricManager: (lambda facts, _: facts.snapshot.fabric_manager, None),
    Packages: (lambda facts, _: facts.snapshot.packages, None),
    ScriptFolder: (lambda facts, _: facts.snapshot.script_folder, None),
    DeviceNodes: (lambda facts, _: facts.snapshot.device_nodes, Rung.DEVICE_NODE),
    Container: (lambda facts, _: facts.snapshot.container, None),
    ContainerTools: (lambda facts, _: facts.snapshot.container_tools, None),
    LoaderCache: (lambda facts, _: facts.snapshot.loader_cache, None),
    Limits: (lambda facts, _: facts.snapshot.limits, None),
    Allocation: (lambda facts, _: facts.snapshot.allocation, None),
    Wsl: (lambda facts, _: facts.snapshot.wsl, None),
    Nvml: (lambda facts, _: facts.snapshot.nvml, Rung.NVML),
    Libcuda: (lambda facts, _: facts.snapshot.libcuda, Rung.LIBCUDA),
    CudaFiles: (lambda facts, _: facts.snapshot.cuda_files, None),
    CudaContext: (_context, Rung.LIBCUDA),
    Mps: (lambda facts, _: facts.snapshot.mps, None),
    Variables: (lambda facts, _: facts.snapshot.variables, None),
    Smoke: (_smoke, Rung.FRAMEWORK),
    Driver: (lambda facts, _: facts.driver, Rung.KERNEL_DRIVER),
    Visibility: (lambda facts, _: facts.visibility, Rung.LIBCUDA),
    Site: (lambda facts, _: facts.site, None),
    Hardware: (lambda facts, _: facts.hardware, None),
    Ladder: (lambda facts, _: facts.ladder, None),
    Policy: (lambda facts, _: facts.policy, None),
    Matrix: (lambda facts, _: facts.matrix, None),
    Stack: (lambda facts, _: facts.stack, None),
    Facts: (lambda facts, _: facts, None),
    Gpu: (lambda _, about: about, None),
    Framework: (lambda _, about: about, None),
    EffectiveCuda: (_effective_cuda, None),
    EffectiveCode: (_effective_code, None),
    Meetings: (_meetings, None),
}
"""What a rule may ask for, and the rung whose failure explains that it is missing."""


def argument(parameter: Parameter, facts: Facts, about: About) -> object:
    """The value for one parameter; ends the rule where it is needed and missing, or where it does not exist for this subject."""
    provide, rung = PROVIDERS[parameter.type]
    value = provide(facts, about)
    if parameter.optional:
        return value
    if isinstance(value, Missing):
        raise CouldNotTell(value, rung)
    if value is None:
        raise NotApplicable(f"no {parameter.name} here")
    return value
