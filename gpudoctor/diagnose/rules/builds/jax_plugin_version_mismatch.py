"""GD508: jax-plugin-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.jax_parts import JAXLIB, compares_plugins, mismatched_plugins, version_numbers
from gpudoctor.derive.packages import Violation
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.package_facts import (
    JAX_PARTS,
    demanded,
    named_by,
    shown,
    there,
)
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Confidence, Fix, Problem, Rung, Severity, SubjectKind
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
    if framework.name != "jax":
        not_applicable("not JAX")
    refused = [one for one in stack.violations if named_by(one) == jax_plugin_version_mismatch.name and _minded(one, stack)]
    said = list(dict.fromkeys(f"{one.demand.text}, and {one.found.label} {there(stack)}" for one in refused))
    unused = [] if refused else _unfit(stack)
    if not refused and not unused:
        return
    yield Problem(
        message=f"{'; '.join(said or unused)}.",
        confidence=Confidence.CERTAIN if said else Confidence.LIKELY,
        evidence=(
            *(shown(one) for one in stack.distributions.values() if one.name in JAX_PARTS or one.name.startswith("jax-cuda")),
            *demanded(refused),
        ),
        fixes=_one_release(framework, stack, machine),
    )


def _one_release(framework: Framework, stack: Stack, machine: MachineView) -> tuple[Fix, ...]:
    """All parts of one release: with CUDA where a plugin is there or asked for, else jax and jaxlib."""
    title = "Install the parts of one release together"
    if any(one.name.startswith("jax-cuda") for one in stack.distributions.values()):
        return install_framework(machine, "jax", prefer=framework.release, title=title)
    release = newest(machine, "jax", accepts=f"=={framework.release}") or newest(machine, "jax")
    wanted = f"jax=={release}" if release else "jax"
    return (Fix(title, install_package(machine.observed.python, "--upgrade", wanted, "jaxlib"), (DOWNLOAD,)),)


def _minded(one: Violation, stack: Stack) -> bool:
    """Whether an installer, or JAX itself, minds a requirement that is not met: an installed plugin only a jaxlib that compares it."""
    jaxlib = stack.distributions.get(JAXLIB)
    return stack.supposed or jaxlib is None or not one.found.name.startswith("jax-cuda") or compares_plugins(stack)


def _unfit(stack: Stack) -> list[str]:
    """What JAX itself compares at import, where no metadata says it."""
    jax, jaxlib = stack.distributions.get("jax"), stack.distributions.get(JAXLIB)
    if jaxlib is None or not version_numbers(jaxlib.version):
        return []
    said = []
    if jax is not None and version_numbers(jax.version) < version_numbers(jaxlib.version):
        said.append(f"{jaxlib.label} is newer than {jax.label}, which refuses it")
    others = mismatched_plugins(stack) if compares_plugins(stack) else ()
    return said + [f"{one.label} does not match {jaxlib.label}, which ignores it" for one in others]
