"""GD506: gpu-too-old-for-build."""

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
    "GD506",
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
def gpu_too_old_for_build(
    framework: Framework, meetings: Meetings | Missing, code: EffectiveCode | Missing, machine: MachineView
) -> Iterator[Problem]:
    """The framework's build no longer has code for a GPU as old as this one.

    ## Why it matters
    Newer releases leave out old architectures, and a CUDA toolkit drops them for good: CUDA 12 has no Kepler, CUDA 13 neither Maxwell,
    Pascal nor Volta. Neither machine code nor PTX for a newer GPU runs on an older one. TensorFlow ignores such a GPU; PyTorch warns and
    fails at the first operation with "no kernel image is available for execution on the device".

    It is an error where no GPU is left that the build runs on and no other framework could train, else a warning.

    ## What to do
    Install the last release that holds code for the GPU, or a build of this release for an older CUDA, where one is published.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    """
    yield from _no_code(Fit.TOO_OLD, framework, met(meetings), need(code), machine)
