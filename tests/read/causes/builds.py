"""Texts whose cause is a build that does not fit, and texts that only look as if one did not."""

from __future__ import annotations

from typing import Final

CASES: Final = (
    ("gpu-too-new-for-build", "GPU: NVIDIA GeForce RTX 5070\n'cuLaunchKernel' failed with 'CUDA_ERROR_INVALID_HANDLE'\n"),
    ("gpu-too-old-for-build", "TensorFlow 2.4.1, GeForce 940M (compute capability 5.0)\nno kernel image is available for execution on the device\n"),
    ("gpu-too-old-for-build", "NotImplementedError: GPUs with compute capability below 8.0 are not supported\n"),
    ("cpu-only-build", "TensorFlow version: 2.15.0\n>>> tf.test.is_built_with_cuda()\nis_built_with_cuda: False\n"),
)  # fmt: skip
"""The cause that must lead, and a text."""
