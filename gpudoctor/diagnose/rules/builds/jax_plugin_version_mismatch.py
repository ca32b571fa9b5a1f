from collections.abc import Iterator

import msgspec

from gpudoctor.derive import FrameworkView, MachineView, Stack, not_applicable
from gpudoctor.derive.demands import Violation
from gpudoctor.derive.plugins import compares_plugins, matching_plugins, mismatched_plugins, version_numbers
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.message_fixes import log_match, usual_fixes
from gpudoctor.diagnose.advice.packages import install_fix, remove_command
from gpudoctor.diagnose.advice.releases import newest_release
from gpudoctor.diagnose.advice.requirements import distribution_evidence, installed_or_requested, requirement_evidence, rule_for_violation
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, advises, explains, rule
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Confidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.frameworks import CudaPlugin, stack_of
from gpudoctor.frameworks.jax import JAX
from gpudoctor.snapshot import Distribution

_JAXLIB_TOO_NEW = expression(
    r"jaxlib version \d\.\d{1,2}\.\d{1,3} is newer than and incompatible with jax version (?P<own>\d\.\d{1,2}\.\d{1,3})"
)
"""jax/_src/lib/__init__.py"""


def _install_stated_parts(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix that installs all parts of the JAX that a text states; what usually helps where it states none."""
    told = log_match(machine, _JAXLIB_TOO_NEW)
    stated = [told["own"]] if told else [framework.release for framework in machine.frameworks if framework.name == JAX.name]
    release = next(filter(None, stated), "")
    title = f"Install {JAX.title} and all its parts in matching versions, with one command"
    fixes = install_framework(machine, JAX.name, near=release, title=title) if release else ()
    if release and not any(fix.installs for fix in fixes):  # no build with CUDA works here, so it is the parts without
        return (
            (install_fix(title, machine.observed.python, f"{JAX.name}=={release}", f"{JAX.plugin.library}=={release}"),)
            if JAX.plugin
            else ()
        )
    return fixes or usual_fixes(machine, "jax-plugin-version-mismatch")


@rule("GD508", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(_install_stated_parts)
@explains(TRAINING_FAILS, "jax fails to import, or jaxlib ignores the plugin and JAX uses the CPU.", Join.FRAMEWORK)
def jax_plugin_version_mismatch(framework: FrameworkView) -> Problems:
    """jax, jaxlib and the CUDA plugin have incompatible versions."""
    plugin, stack = framework.spec.plugin, framework.environment.stack
    if plugin is None:
        not_applicable(f"{framework.name} has no CUDA plugin")
    if framework.observed.sees_gpu is True:
        not_applicable(f"{framework.name} can use the GPU, so its parts match")
    refused = [violation for violation in stack.violations if _is_refused(violation, stack, plugin)]
    unmet = dict.fromkeys(f"{violation.demand.text}, but {violation.found.label} {installed_or_requested(stack)}" for violation in refused)
    incompatible = list(unmet) or list(_import_mismatches(stack, plugin))
    if not incompatible:
        return
    ignored = () if unmet else _ignored_plugins(stack, plugin)
    parts = (part for part in stack.distributions.values() if stack_of(part.name) == framework.name)
    yield Problem(
        message=f"{'; '.join(incompatible)}{_consequence_clause(ignored, stack, plugin)}.",
        severity=Severity.WARNING if ignored else None,
        impact=Impact.AT_RISK if ignored else None,
        confidence=Confidence.CERTAIN if unmet else Confidence.LIKELY,
        evidence=(*(distribution_evidence(part) for part in parts), *requirement_evidence(refused)),
        fixes=(_remove_plugins(ignored, stack, framework),) if ignored else _install_all_parts(framework, stack, plugin),
    )


def _ignored_plugins(stack: Stack, plugin: CudaPlugin) -> tuple[Distribution, ...]:
    """Return the plugins that are ignored beside one that matches; () if none does, or JAX itself is refused."""
    return mismatched_plugins(stack, plugin) if not _library_mismatches(stack, plugin) and matching_plugins(stack, plugin) else ()


def _consequence_clause(ignored: tuple[Distribution, ...], stack: Stack, plugin: CudaPlugin) -> str:
    """Return what happens beside a plugin that matches: jax_plugins registers the first client that it meets, in no fixed order."""
    if not ignored:
        return ""
    (used, *_) = matching_plugins(stack, plugin)
    return f" and uses {used.label}; but either client may be loaded, since JAX takes the first that it finds"


def _remove_plugins(ignored: tuple[Distribution, ...], stack: Stack, framework: FrameworkView) -> Fix:
    """Return the fix that removes plugins with their clients."""
    names = tuple(
        name
        for distribution in ignored
        for name in (distribution.name, distribution.name.replace("-plugin", "-pjrt"))
        if name in stack.distributions
    )
    command = remove_command(framework.machine.observed.python, *names)
    return Fix(f"Remove {' and '.join(names)}", command, removes=names, action=Action.REINSTALL_PACKAGE)


def _install_all_parts(framework: FrameworkView, stack: Stack, plugin: CudaPlugin) -> tuple[Fix, ...]:
    """Return the fix that installs all parts of one release, with the CUDA plugin if one is installed or requested."""
    machine, name = framework.machine, framework.name
    title = f"Install {framework.spec.title} and all its parts in matching versions, with one command"
    if any(part.startswith(plugin.beginning) for part in stack.distributions):
        parts = tuple(part for part in stack.distributions if stack_of(part) == name and part != name)
        fixes = install_framework(machine, name, near=framework.release, title=title)
        return tuple(msgspec.structs.replace(fix, removes=parts) if fix.installs else fix for fix in fixes)
    release = newest_release(machine, name, accepts=f"=={framework.release}") or newest_release(machine, name)
    pin = f"{name}=={release}" if release else name
    return (install_fix(title, machine.observed.python, pin, plugin.library, options=("--upgrade",)),)


def _is_refused(violation: Violation, stack: Stack, plugin: CudaPlugin) -> bool:
    """Return whether an installer or JAX itself refuses a part; an older jaxlib does not check the version of a plugin."""
    if rule_for_violation(violation) != jax_plugin_version_mismatch.name:
        return False
    if f"=={violation.found.version}+" in violation.demand.text:
        return False  # the release matches: that its build has no CUDA is another cause
    installed = plugin.library in stack.distributions and violation.found.name.startswith(plugin.beginning)
    return stack.supposed or not installed or compares_plugins(stack, plugin)


def _import_mismatches(stack: Stack, plugin: CudaPlugin) -> Iterator[str]:
    """Return the mismatches that JAX checks at import, which no metadata states."""
    yield from _library_mismatches(stack, plugin)
    for other in mismatched_plugins(stack, plugin) if compares_plugins(stack, plugin) else ():
        yield f"{other.label} does not match {stack.distributions[plugin.library].label}, which ignores it"


def _library_mismatches(stack: Stack, plugin: CudaPlugin) -> tuple[str, ...]:
    """Return that JAX refuses its library, which is newer; empty if it does not."""
    own, library = stack.distributions.get(stack_of(plugin.library) or ""), stack.distributions.get(plugin.library)
    if own is None or library is None or version_numbers(own.version) >= version_numbers(library.version):
        return ()
    return (f"{library.label} is newer than {own.label}, which refuses it",)
