"""The architecture that people name for their GPU, in place of its name."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Missing
from tests.read.seeing import gpus
from tests.read.test_read import causes

NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("My card is sm_52.", "5.2"),
        ("Your GPU (sm_61) is not supported by this build.", "6.1"),
        ("I built it for sm_80, but my GPU is sm_61.", "6.1"),
        ("It runs on an sm_120 card.", "12.0"),
        ("The GPU's architecture is sm_70", "7.0"),
        ("RTX 5080 (sm_120), driver 580.65.06", "12.0"),
        ("We compiled the kernels for an sm_90 GPU.", None),
        ("The wheel has sm_75 sm_80 sm_86.", None),
        ("GPU with sm_75 sm_80 or newer", None),
        ("One card is sm_61, the other card is sm_86.", None),
    ],
)
def test_the_gpu_at_hand_has_the_architecture_that_all_sentences_give_it(text: str, capability: str | None, matrix: Matrix) -> None:
    (gpu,) = gpus(NO_KERNEL + text, matrix)
    assert (None if isinstance(gpu.compute_capability, Missing) else gpu.compute_capability) == capability


@pytest.mark.parametrize(
    ("cause", "gpu"), [("gpu-too-old-for-build", "My card is sm_35."), ("gpu-too-new-for-build", "It is an sm_120 card.")]
)
def test_it_decides_between_too_old_and_too_new(cause: str, gpu: str, matrix: Matrix) -> None:
    assert causes(f"torch==2.5.1+cu124\n{NO_KERNEL}{gpu}\n", matrix)[:1] == [cause]
