"""GD4: whether the cuDNN that a framework would load is one that it runs with, and holds code for the GPU."""

from __future__ import annotations

from gpudoctor.derive import Component, EffectiveCuda, MachineView, Stack
from gpudoctor.derive.specifiers import satisfies
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.build_facts import with_cuda
from gpudoctor.diagnose.library_facts import for_a_gpu
from gpudoctor.diagnose.rule import need
from gpudoctor.findings import Evidence, Fix, FixKind
from gpudoctor.snapshot import Framework, Missing
from gpudoctor.versions import Version


def _cudnn(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> tuple[EffectiveCuda, Component]:
    """The cuDNN of a framework; ends the rule where it has no CUDA, or no GPU."""
    for_a_gpu(machine.hardware)
    cuda = with_cuda(effective)
    return cuda, need(machine.component("cudnn", framework))


def _versions(found: Component) -> tuple[Version, Version]:
    """The release wanted and the one that would be loaded; ends the rule where either is not known."""
    return need(found.wanted), need(found.loaded)


def _evidence(found: Component) -> tuple[Evidence, ...]:
    return (
        Evidence("cuDNN that the build wants", str(found.wanted), found.wanted_where),
        Evidence("cuDNN that is there", str(found.loaded), found.loaded_where),
    )


def _fitting(found: Component, wanted: Version, machine: MachineView) -> tuple[Fix, ...]:
    """How to get a cuDNN that the framework runs with."""
    specifier = next((demand.requirement.specifier for demand in found.demands), "") or f">={wanted},<{wanted.major + 1}"
    install = install_package(machine.observed.python, f"{found.wheel}{specifier}")
    stack = machine.stack_or_missing
    wheel = stack.distributions.get(found.wheel) if isinstance(stack, Stack) else None
    if found.wheel and found.loaded_where.startswith(found.wheel):
        return (Fix("Install a cuDNN that fits", install, (DOWNLOAD,)),)
    replace = f"Replace {found.loaded_where} by cuDNN {wanted} or a later {wanted.major}.x for this CUDA."
    if not found.wheel or (wheel is not None and satisfies(wheel.version, specifier)):
        return (Fix(replace, needs=(DOWNLOAD,)),)
    package = f"{found.wheel} {specifier}"
    return (
        Fix(f"Install {package} into the environment", install, (DOWNLOAD,)),
        Fix(replace, needs=(DOWNLOAD,), kind=FixKind.ELSE),
    )
