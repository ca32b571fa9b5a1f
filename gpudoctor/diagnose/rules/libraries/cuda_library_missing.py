"""GD401: cuda-library-missing."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.derive.packages import SUPPOSED
from gpudoctor.diagnose.library_facts import unfound, uses
from gpudoctor.diagnose.planned_libraries import not_brought
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.loading import _missing, _nowhere
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD401",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cudnn-missing",
                "libdevice-not-found",
                "ptxas-not-found",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def cuda_library_missing(framework: Framework, machine: MachineView, hardware: Hardware, python: Python | Missing) -> Iterator[Problem]:
    """A CUDA library that the framework needs is nowhere on this machine.

    ## Why it matters
    TensorFlow opens CUDA's libraries by name when it starts; where one is missing it says so in its log ("Could not find cuda drivers",
    "Cannot dlopen some GPU libraries") and goes on without the GPU. PyTorch and JAX stop with an ImportError. The package `tensorflow`
    alone brings none of them.

    ## What to do
    Install the libraries as packages into the environment, in the releases that the framework was built with.

    ## References
    - https://www.tensorflow.org/install/pip
    - https://docs.jax.dev/en/latest/installation.html
    """
    if machine.observed.origin == SUPPOSED:
        yield from not_brought(framework, machine)
        return
    lost = _nowhere(unfound(uses(framework, machine, hardware)), cudnn=False)
    if lost:
        yield _missing(lost, framework, machine, python)
