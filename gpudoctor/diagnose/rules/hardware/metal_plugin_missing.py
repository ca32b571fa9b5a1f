from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView, known, not_applicable
from gpudoctor.diagnose.advice.lacking import newest_agreeing
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.diagnose.rule import TRAINING_FAILS, Explains, Join, rule
from gpudoctor.findings import Action, Domain, Evidence, Problem, Rung, Severity
from gpudoctor.snapshot import Platform


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
    if not plugin:
        not_applicable(f"{framework.spec.title} needs no GPU plugin on macOS")
    if known(framework.machine.host.platform) != Platform.MACOS:
        not_applicable("not macOS")
    if framework.observed.sees_gpu is True:
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
