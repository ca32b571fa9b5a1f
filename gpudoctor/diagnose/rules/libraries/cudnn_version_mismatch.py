"""GD410: cudnn-version-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Component, EffectiveCuda, MachineView
from gpudoctor.derive.components import unlike
from gpudoctor.derive.packages import SUPPOSED
from gpudoctor.derive.specifiers import below
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.cudnn import _cudnn, _evidence, _fitting, _versions
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing
from gpudoctor.versions import Version


@rule(
    "GD410",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cudnn_version_mismatch(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> Iterator[Problem]:
    """The cuDNN that would be loaded is older than the one that the framework was built with.

    ## Why it matters
    A newer minor release of cuDNN does what an older one did, not the other way round. TensorFlow compares both when it first uses
    cuDNN ("Loaded runtime CuDNN library ... but source was compiled with ...") and fails; PyTorch and JAX refuse it as well. It happens
    when two frameworks share an environment and the one that was installed last set the version.

    ## What to do
    Install the cuDNN that this framework requires, or give each framework an environment of its own.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html
    - https://github.com/tensorflow/tensorflow/blob/master/third_party/xla/xla/stream_executor/cuda/cuda_dnn.cc
    """
    _, found = _cudnn(framework, effective, machine)
    wanted, loaded = _versions(found)
    difference = unlike(wanted, loaded)
    older = difference == "older"
    if difference == "major" or not (older or _refused(found, loaded)):
        return
    refused = "" if older else "; only the patch differs, which frameworks accept and an installer does not"
    supposed = machine.observed.origin == SUPPOSED
    yield Problem(
        message=f"{framework.label} wants cuDNN {wanted} or later, and would load {loaded}{refused}.",
        severity=None if older or supposed else Severity.NOTE,
        only_for=framework.name,
        evidence=_evidence(found),
        fixes=_fitting(found, wanted, machine),
    )


def _refused(found: Component, loaded: Version) -> bool:
    """Whether the wheel is older than a requirement allows, be it by a patch only."""
    mine = found.loaded_where.startswith(found.wheel)
    return mine and any(below(str(loaded), demand.requirement.specifier) for demand in found.demands)
