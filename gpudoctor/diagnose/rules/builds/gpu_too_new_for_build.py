"""GD505: gpu-too-new-for-build."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.builds.no_kernels import no_kernels
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.findings import Problem, Rung, Severity


@rule(
    "GD505",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    explains=(
        Explains(("extension-missing-arch",), "An add-on for this release is built for the same GPUs as the framework.", Join.FRAMEWORK),
        Explains(TRAINING_FAILS, "A framework fails or uses the CPU where its build has no kernels for the GPU.", Join.FRAMEWORK),
    ),
)
def gpu_too_new_for_build(framework: FrameworkView) -> Iterator[Problem]:
    """GPU is too new for the framework's build.

    ## Why it matters
    A build contains machine code for certain architectures. Such code runs on GPUs of the same major compute capability with the same or
    a higher minor one, and on no others. For newer GPUs a build needs PTX, which the driver compiles. Without it the first operation ends
    with "no kernel image is available for execution on the device" (PyTorch), or the GPU is ignored (TensorFlow). PTX that the driver
    refuses does not count: TensorFlow 2.16 to 2.21 end with CUDA_ERROR_INVALID_PTX on compute capability 10.0 and newer.

    It is an error if the build runs on no other GPU and no other framework could train, else a warning.

    ## What to do
    Install a newer release, or a build of the same release for a newer CUDA. Driver and toolkit can stay, unless the new build needs a
    newer driver.

    ## References
    - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility
    - https://github.com/tensorflow/tensorflow/issues/89272
    - https://github.com/tensorflow/tensorflow/issues/90291
    - https://github.com/tensorflow/tensorflow/issues/97387
    - https://github.com/tensorflow/tensorflow/issues/99592
    - https://github.com/tensorflow/tensorflow/issues/101746
    """
    yield from no_kernels(framework, Fit.TOO_NEW)
