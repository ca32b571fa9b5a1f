from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView, known, not_applicable
from gpudoctor.derive.packages import source_of
from gpudoctor.diagnose.advice.lacking import newest_agreeing
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import Action, Domain, Evidence, Problem, Rung, Severity
from gpudoctor.matrix.builds import CPU
from gpudoctor.snapshot import Platform

METAL = "metal"
"""The accelerator of a build that uses the GPU of a Mac, as the tables name it."""


@rule(
    "GD116",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    domain=Domain.ENVIRONMENT,
    predicts=False,
    explains=(Explains(TRAINING_FAILS, "Without Apple's plugin the framework lists no GPU on macOS.", Join.FRAMEWORK),),
)
def metal_plugin_missing(framework: FrameworkView) -> Iterator[Problem]:
    """Apple's GPU plugin for the framework is not installed."""
    plugin = framework.spec.metal_plugin
    if known(framework.machine.host.platform) != Platform.MACOS:
        not_applicable("not macOS")
    if framework.observed.sees_gpu is True:
        return
    if not plugin:
        yield from _built_without_metal(framework)
        return
    environment = framework.environment
    if any(package.name == plugin for package in environment.packages.distributions):
        return
    release = newest_agreeing(environment, plugin)
    pin = f"{plugin}=={release}" if release else plugin
    unknown = "" if release else f", if Apple has a release for {framework.label}"
    yield Problem(
        severity=Severity.NOTE if framework.machine.policy.allow_cpu else None,
        message=f"{framework.label} cannot use the GPU: Apple's plugin {plugin} is not installed.",
        evidence=(Evidence(plugin, "not installed", "the environment's packages"),),
        fixes=(install_fix(f"Install {plugin}{unknown}", environment.observed.python, pin, action=Action.INSTALL_PACKAGE),),
    )


def _built_without_metal(framework: FrameworkView) -> Iterator[Problem]:
    """Yield the problem of a release from before its framework used Metal: PyTorch before 1.12."""
    stack, own = framework.environment.stack, framework.distribution
    row = stack.row(own) if own is not None else None
    later = [one.release for one in stack.matrix.releases(row.distribution, row.platform) if one.accelerator == METAL] if row else []
    if row is None or row.accelerator != CPU or not later:
        not_applicable(f"{framework.spec.title} needs no GPU plugin on macOS")
    release = newest(framework.machine, row.distribution, accepts=f">={later[0]}", near=str(later[0])) or str(later[0])
    yield Problem(
        severity=Severity.NOTE if framework.machine.policy.allow_cpu else None,
        title="Release is built without Metal",
        message=f"{framework.label} is built without Metal, so it cannot use the GPU of a Mac: {later[0]} is the first release with it.",
        evidence=(Evidence("build", row.accelerator, source_of(row)),),
        fixes=(
            install_fix(f"Install {row.distribution} {release}", framework.environment.observed.python, f"{row.distribution}=={release}"),
        ),
    )
