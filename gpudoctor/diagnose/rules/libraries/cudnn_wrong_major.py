"""GD409: cudnn-wrong-major."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCuda, MachineView
from gpudoctor.derive.components import unlike
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.cudnn import _cudnn, _evidence, _fitting, _versions
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing


@rule(
    "GD409",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cudnn-drops-gpu",
                "cudnn-missing",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def cudnn_wrong_major(framework: Framework, effective: EffectiveCuda | Missing, machine: MachineView) -> Iterator[Problem]:
    """The cuDNN that is there is of another major release than the framework's build wants.

    ## Why it matters
    A build asks for one major release of cuDNN by the name of its file, libcudnn.so.8 or libcudnn.so.9. Another one, newer or older, is
    not found, or is refused: TensorFlow then registers no GPU, PyTorch and JAX stop with an error.

    ## What to do
    Install the cuDNN that the framework requires, or a release of the framework for the cuDNN that is there.

    ## References
    - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/developer/forward-compatibility.html
    - https://www.tensorflow.org/install/source#gpu
    """
    _, found = _cudnn(framework, effective, machine)
    wanted, loaded = _versions(found)
    if unlike(wanted, loaded) != "major":
        return
    yield Problem(
        message=f"{framework.label} is built with cuDNN {wanted}, and the cuDNN that is there is {loaded}: another major release.",
        only_for=framework.name,
        evidence=_evidence(found),
        fixes=_fitting(found, wanted, machine),
    )
