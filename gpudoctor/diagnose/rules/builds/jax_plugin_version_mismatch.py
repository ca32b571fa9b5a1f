"""GD508: jax-plugin-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import Violation
from gpudoctor.derive.plugins import compares_plugins, mismatched_plugins, version_numbers
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.package_facts import (
    demanded,
    named_by,
    shown,
    there,
)
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import CudaPlugin, spec_of, stack_of
from gpudoctor.snapshot import Framework


@rule(
    "GD508",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def jax_plugin_version_mismatch(framework: Framework, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The parts of JAX are of releases that do not go together.

    ## Why it matters
    JAX comes in parts: jax, jaxlib and, for CUDA, a plugin and its PJRT client. At import jax refuses a jaxlib that is newer than itself or
    older than it needs, and since 0.5.3 jaxlib ignores a plugin whose version differs: JAX then computes on the CPU, after one warning.

    ## What to do
    Install all of them in one command with the extra for your CUDA, so that the installer chooses parts of one release.

    ## References
    - https://docs.jax.dev/en/latest/installation.html
    - https://github.com/jax-ml/jax/blob/main/jaxlib/plugin_support.py
    """
    plugin = spec_of(framework.name).plugin
    if plugin is None:
        not_applicable("its CUDA half is no plugin")
    refused = [one for one in stack.violations if named_by(one) == jax_plugin_version_mismatch.name and _minded(one, stack, plugin)]
    said = list(dict.fromkeys(f"{one.demand.text}, and {one.found.label} {there(stack)}" for one in refused))
    unused = [] if refused else _unfit(framework.name, stack, plugin)
    if not refused and not unused:
        return
    yield Problem(
        message=f"{'; '.join(said or unused)}.",
        confidence=Confidence.CERTAIN if said else Confidence.LIKELY,
        evidence=(
            *(shown(one) for one in stack.distributions.values() if stack_of(one.name) == framework.name),
            *demanded(refused),
        ),
        fixes=_one_release(framework, stack, machine, plugin),
    )


def _one_release(framework: Framework, stack: Stack, machine: MachineView, plugin: CudaPlugin) -> tuple[Fix, ...]:
    """All parts of one release: with CUDA where a plugin is there or asked for, else the framework and its library."""
    title = "Install the parts of one release together"
    name = framework.name
    if any(part.startswith(plugin.beginning) for part in stack.distributions):
        return install_framework(machine, name, prefer=framework.release, title=title)
    release = newest(machine, name, accepts=f"=={framework.release}") or newest(machine, name)
    wanted = f"{name}=={release}" if release else name
    return (Fix(title, install_package(machine.observed.python, "--upgrade", wanted, plugin.library), (DOWNLOAD,)),)


def _minded(one: Violation, stack: Stack, plugin: CudaPlugin) -> bool:
    """Whether an installer, or JAX itself, minds a requirement that is not met: an installed plugin only a library that compares it."""
    if stack.supposed or plugin.library not in stack.distributions:
        return True
    return not one.found.name.startswith(plugin.beginning) or compares_plugins(stack, plugin)


def _unfit(name: str, stack: Stack, plugin: CudaPlugin) -> list[str]:
    """What JAX itself compares at import, where no metadata says it."""
    own, library = stack.distributions.get(name), stack.distributions.get(plugin.library)
    if library is None or not version_numbers(library.version):
        return []
    said = []
    if own is not None and version_numbers(own.version) < version_numbers(library.version):
        said.append(f"{library.label} is newer than {own.label}, which refuses it")
    others = mismatched_plugins(stack, plugin) if compares_plugins(stack, plugin) else ()
    return said + [f"{one.label} does not match {library.label}, which ignores it" for one in others]
