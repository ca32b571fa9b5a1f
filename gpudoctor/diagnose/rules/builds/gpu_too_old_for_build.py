"""GD506: gpu-too-old-for-build."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.builds.no_kernels import no_kernels
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Problem, Rung, Severity


@rule(
    "GD506",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    explains=(
        Explains(("extension-missing-arch",), "An add-on for this release is built for the same GPUs as the framework.", Join.FRAMEWORK),
        Explains(TRAINING_FAILS, "A framework fails or uses the CPU where its build has no kernels for the GPU.", Join.FRAMEWORK),
    ),
)
def gpu_too_old_for_build(framework: FrameworkView) -> Iterator[Problem]:
    """GPU is too old for the framework's build.

    ## Why it matters
    Newer releases leave out old architectures, and CUDA toolkits drop them for good: CUDA 12 has no Kepler; CUDA 13 has no Maxwell,
    Pascal or Volta. Neither machine code nor PTX for a newer GPU runs on an older one. TensorFlow ignores such a GPU. PyTorch warns and
    fails at the first operation with "no kernel image is available for execution on the device".

    It is an error if the build runs on no other GPU and no other framework could train, else a warning.

    ## What to do
    Install the last release with kernels for the GPU, or a build of this release for an older CUDA, where one is published.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html
    """
    yield from no_kernels(framework, Fit.TOO_OLD)
