"""Evidence and fixes for a framework that would load an unsuitable cuDNN."""

import msgspec

from gpudoctor.derive import FrameworkView, require_known
from gpudoctor.derive.cuda_libraries import WHEEL_NAMES, Origin
from gpudoctor.derive.cudnn_code import optional_cudnn_module
from gpudoctor.derive.specifiers import are_contradictory, satisfies
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import nearest_release
from gpudoctor.findings import DOWNLOAD, Evidence, Fix, FixKind
from gpudoctor.snapshot import Cause, Distribution, Missing, TextLog
from gpudoctor.versions import Version


def cudnn_evidence(framework: FrameworkView) -> tuple[Evidence, ...]:
    """Return the cuDNN that the build needs and the cuDNN that would be loaded."""
    found = framework.cudnn
    return (
        Evidence("cuDNN that the build needs", str(found.wanted), found.wanted_where),
        Evidence("cuDNN that would be loaded", str(found.loaded), found.loaded_where),
    )


def only_part_clause(framework: FrameworkView) -> str:
    """Return what alone needs cuDNN, as the end of a message; empty where nothing trains without."""
    part = optional_cudnn_module(framework.observed.distribution)
    return f"; only {part} needs it" if part else ""


def loaded_cudnn(framework: FrameworkView) -> Version:
    """Return the cuDNN that the framework would load.

    Ends the rule where a text without a fault states only the system's: the release has an extra that installs its own, which is found first.
    """
    found, log = framework.cudnn, framework.machine.observed.text_log
    harmless = isinstance(log, TextLog) and not log.lines and framework.observed.sees_gpu is not False
    if harmless and found.origin is Origin.SYSTEM and _brings_own_cudnn(framework):
        require_known(Missing(Cause.NOT_STATED, "the text does not say whether the framework loads the system's cuDNN or its own"))
    return require_known(found.loaded)


def _brings_own_cudnn(framework: FrameworkView) -> bool:
    return any(line.startswith(WHEEL_NAMES["cudnn"]) for row in framework.published for line in row.requires)


def _install_matching_release(framework: FrameworkView, specifier: str) -> tuple[Fix, ...]:
    """Return the fix that installs a release built with the cuDNN that is there, if another package requires that; () otherwise."""
    found, own, stack = framework.cudnn, framework.observed.distribution, framework.environment.stack_or_missing
    if isinstance(stack, Missing) or isinstance(found.loaded, Missing) or not own:
        return ()
    elsewhere = tuple(
        demand.requirement.specifier for demand in stack.demands if demand.requirement.name == found.wheel and demand.by.name != own
    )
    if not are_contradictory((specifier, *elsewhere)):
        return ()
    major, there = found.loaded.major, Distribution(own, framework.release, "")
    release = nearest_release(framework.machine, there, lambda row: row.cudnn is not None and row.cudnn.major == major)
    title = f"Install {own} {release}, which is built with cuDNN {major}"
    return (install_fix(title, framework.machine.observed.python, f"{own}=={release}"),) if release else ()


def install_cudnn(framework: FrameworkView, wanted: Version) -> tuple[Fix, ...]:
    """Return fixes that install a cuDNN that works with the framework."""
    found, stack = framework.cudnn, framework.environment.stack_or_missing
    required = next((demand.requirement.specifier for demand in found.demands), "") or f">={wanted}"
    next_major = f"<{wanted.major + 1}"  # metadata such as jax 0.4.25's has no upper bound
    specifier = required if satisfies(f"{wanted.major + 1}", required) is False else f"{required},{next_major}"
    if others := _install_matching_release(framework, specifier):
        return others
    install = install_fix(f"Install {found.wheel}{specifier}", framework.machine.observed.python, f"{found.wheel}{specifier}")
    if found.origin is Origin.WHEEL:
        return (install,)
    replace = f"Replace {found.loaded_name} with cuDNN {wanted} or a newer {wanted.major}.x for the same CUDA."
    wheel = None if isinstance(stack, Missing) else stack.distributions.get(found.wheel)
    if not found.wheel or (wheel is not None and satisfies(wheel.version, specifier)):
        return (Fix(replace, needs=(DOWNLOAD,), system_cudnn=str(wanted)),)
    return (
        msgspec.structs.replace(install, title=f"{install.title} in the environment"),
        Fix(replace, needs=(DOWNLOAD,), kind=FixKind.ELSE, system_cudnn=str(wanted)),
    )
