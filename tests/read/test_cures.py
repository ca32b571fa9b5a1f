"""What people say of a step decides: the cause that it cures, or another."""

from __future__ import annotations

import pytest

from gpudoctor.matrix import Matrix
from tests.read.test_read import causes

HANGS = "Two RTX 4090, the first all_reduce hangs.\n"
P2P = "nccl-p2p-acs-iommu"


@pytest.mark.parametrize(
    "sentence",
    [
        "With NCCL_P2P_DISABLE=1 it runs.",
        "NCCL_P2P_DISABLE=1 avoids the hang.",
        "It hangs unless NCCL_P2P_DISABLE=1 is set.",
        "Training works if NCCL_P2P_DISABLE=1.",
        "Booting with intel_iommu=off fixed it.",
        "Resolved: disabled VT-d",
        "What solved it: NCCL_P2P_DISABLE=1 torchrun train.py",
        "NCCL_P2P_DISABLE=1 did not help, but disabling ACS in the BIOS fixed it.",
    ],
)
def test_a_step_that_helped_names_its_cause(sentence: str, matrix: Matrix) -> None:
    assert causes(HANGS + sentence, matrix)[:1] == [P2P]


@pytest.mark.parametrize(
    "sentence",
    [
        "NCCL_P2P_DISABLE=1 does not help.",
        "Setting NCCL_P2P_DISABLE=1 made no difference.",
        "With NCCL_P2P_DISABLE=1 it still hangs.",
        "It hangs with NCCL_P2P_DISABLE=1 too.",
        "It doesn't work with NCCL_P2P_DISABLE=1 either.",
    ],
)
def test_a_step_that_did_not_help_excludes_what_it_cures(sentence: str, matrix: Matrix) -> None:
    assert P2P not in causes(HANGS + sentence, matrix)


def test_a_question_tells_of_no_cure(matrix: Matrix) -> None:
    assert P2P not in causes("Does it work with NCCL_P2P_DISABLE=1?", matrix)


@pytest.mark.parametrize("value", ["0", "0,1", "'0'"])
def test_a_variable_that_shows_the_first_gpu_hides_none(value: str, matrix: Matrix) -> None:
    text = f"export CUDA_VISIBLE_DEVICES={value}\ntorch.cuda.is_available() is False\n"
    assert "cuda-visible-devices-masked" not in causes(text, matrix)
