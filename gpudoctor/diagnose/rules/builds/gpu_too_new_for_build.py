"""GD505: gpu-too-new-for-build."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import EffectiveCode, MachineView, Meetings
from gpudoctor.derive.code import Fit
from gpudoctor.diagnose.build_facts import met
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.builds.builds import _no_code
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Missing


@rule(
    "GD505",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "extension-missing-arch",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def gpu_too_new_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework's build has no code for a GPU as new as this one.

    ## Why it matters
    A build holds machine code for certain architectures. Such code runs on GPUs of the same major compute capability with the same or a
    higher minor one, and on no others. For newer GPUs a build needs PTX, which the driver compiles; without it the first operation ends
    with "no kernel image is available for execution on the device" (PyTorch), or the GPU is ignored (TensorFlow). PTX that the driver refuses
    is none: TensorFlow 2.16 to 2.21 end with CUDA_ERROR_INVALID_PTX on compute capability 10.0 and newer.

    It is an error where no GPU is left that the build runs on and no other framework could train, else a warning.

    ## What to do
    Install a newer release, or a build of the same release for a newer CUDA. Neither driver nor toolkit has to change for it, unless the
    new build asks for a newer driver.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://github.com/tensorflow/tensorflow/issues/89272
    - https://github.com/tensorflow/tensorflow/issues/90291
    - https://github.com/tensorflow/tensorflow/issues/97387
    - https://github.com/tensorflow/tensorflow/issues/99592
    - https://github.com/tensorflow/tensorflow/issues/101746
    """
    yield from _no_code(Fit.TOO_NEW, framework, met(meetings), need(code), machine)
