"""GD116: metal-plugin-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.rule import Explains, Join, need, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Evidence, Fix, Policy, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Host, Missing, Packages, Platform, Python

_PLUGINS = ("tensorflow-metal",)


@rule(
    "GD116",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    predicts=False,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def metal_plugin_missing(
    framework: Framework, host: Host, packages: Packages, python: Python | Missing, policy: Policy, machine: MachineView
) -> Iterator[Problem]:
    """TensorFlow on macOS without tensorflow-metal computes on the CPU.

    ## Why it matters
    TensorFlow has no GPU support for macOS of its own. Apple's plug-in tensorflow-metal adds it; without that TensorFlow lists no GPU,
    on the newest Mac too. The plug-in follows TensorFlow's releases late: each of its versions fits some of them only.

    ## What to do
    Install tensorflow-metal, and a TensorFlow that it fits. PyTorch needs no plug-in: its device is called mps.

    ## References
    - https://developer.apple.com/metal/tensorflow-plugin/
    """
    if framework.name != "tensorflow":
        not_applicable("only TensorFlow needs a plug-in")
    if need(host.platform) != Platform.MACOS:
        not_applicable("not macOS")
    if any(one.name in _PLUGINS for one in packages.distributions):
        return
    yield Problem(
        severity=Severity.NOTE if policy.allow_cpu else None,
        message="TensorFlow is installed on macOS, tensorflow-metal is not.",
        evidence=(Evidence("tensorflow-metal", "not installed", "the environment's packages"),),
        fixes=(Fix("Install Apple's plug-in", install_package(python, _plugin(machine)), (DOWNLOAD,)),),
    )


def _plugin(machine: MachineView) -> str:
    """The newest plug-in with a wheel for this Python."""
    release = newest(machine, _PLUGINS[0])
    return f"{_PLUGINS[0]}=={release}" if release else _PLUGINS[0]
