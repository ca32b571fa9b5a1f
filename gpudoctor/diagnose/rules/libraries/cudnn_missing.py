"""GD402: cudnn-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.library_facts import unfound, uses
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.loading import _missing, _nowhere
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD402",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def cudnn_missing(framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """The cuDNN that the framework needs is nowhere on this machine.

    ## Why it matters
    CuDNN is not part of a CUDA toolkit: it is a download of its own. Without it TensorFlow registers no GPU, and PyTorch and JAX do not
    start.

    ## What to do
    Install it as a package into the environment, in the release that the framework was built with.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/installation/latest/
    """
    lost = _nowhere(unfound(uses(framework, machine, hardware)), cudnn=True)
    if lost:
        yield _missing(lost, framework, machine, python)
