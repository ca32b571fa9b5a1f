"""What a plan names where nothing works: really broken alone or together, no larger than needed, and the nearest really works."""

from __future__ import annotations

import functools
from itertools import combinations, product

import pytest

from gpudoctor.findings import Verdict
from gpudoctor.plan import check_combination
from gpudoctor.plan.checker import ASSUMED_POLICY
from gpudoctor.plan.proposal import proposed_plan
from tests.plan.planned import MATRIX, combination, every_build, planned
from tests.plan.planned import asked as question

CULPRITS = [
    (
        "T4",
        "535.183.01",
        ("torch==2.9.0", "torchvision", "flash-attn"),
        ("flash-attn",),
        ("needs compute capability 8.0", "Without flash-attn, torch 2.9.0"),
    ),
    (
        "T4",
        "535.183.01",
        ("flash-attn",),
        ("flash-attn",),
        ("needs compute capability 8.0", "Use a GPU of compute capability 8.0 or newer."),
    ),
    ("GTX 1080", "535.183.01", ("flash-attn", "vllm", "torch==2.9.0"), ("flash-attn",), ("", "Without flash-attn and vllm, torch 2.9.0")),
    (
        "GTX 1080",
        "535.183.01",
        ("vllm<=0.33.0", "torch==2.9.0"),
        ("vllm<=0.33.0",),
        ("has no kernels for", "Without vllm, torch 2.9.0 for CUDA 12.6 works."),
    ),
    (
        "L4",
        "580.65.06",
        ("vllm==0.33.0", "torch==2.9.0"),
        ("vllm==0.33.0", "torch==2.9.0"),
        ("requires torch==2.14.0, not torch==2.9.0", "With torch==2.9.0, the newest vllm that works is 0.13.0."),
    ),
    (
        "T4",
        "580.65.06",
        ("torch==2.2.0", "numpy==2.1.0"),
        ("torch==2.2.0", "numpy==2.1.0"),
        ("compiled for NumPy 1", "With torch==2.2.0, use numpy<2."),
    ),
    (
        "v100-sxm2",
        "580.65.06",
        ("tensorflow==2.18.0", "nvidia-cudnn-cu12==8.9.7.29"),
        ("tensorflow==2.18.0", "nvidia-cudnn-cu12==8.9.7.29"),
        ("cuDNN", "leave out nvidia-cudnn-cu12."),
    ),
    (
        "GB10",
        "580.95.05",
        ("tensorflow<=2.21.0", "torch<=2.15.0"),
        ("tensorflow<=2.21.0",),
        ("has no CUDA wheel on the package index for Linux (aarch64)", "Without tensorflow, torch 2.15.0"),
    ),
    (
        "h100",
        "580.65.06",
        ("torchvision==0.20.1", "torchaudio==2.4.1"),
        ("torchvision==0.20.1", "torchaudio==2.4.1"),
        ("requires torch==2.5.1", "works is 0.19.1"),
    ),
]
"""GPU, driver, what was asked for, what prevents it, why and what to do instead."""


@pytest.mark.parametrize(("gpu", "driver", "asked", "culprit", "said"), CULPRITS)
def test_the_sentence_names_the_culprit_the_reason_and_what_works(
    gpu: str, driver: str, asked: tuple[str, ...], culprit: tuple[str, ...], said: tuple[str, str]
) -> None:
    plan = planned(gpu, driver, *asked)
    assert (plan.exit_code, plan.contradiction) == (1, culprit)
    assert all(one in plan.headline for one in (*culprit, *said)), plan.headline


def test_python_can_be_the_culprit() -> None:
    plan = planned("L4", "580.65.06", "vllm==0.33.0", "torch", python="3.8")
    assert "vllm 0.33.0 has wheels for Python 3.11 to 3.14, not for 3.8." in plan.headline


ADDED = ("flash-attn", "vllm==0.19.1", "bitsandbytes", "torchvision==0.20.1", "numpy==2.1.0", "torch==2.2.0", "tensorflow==2.20.0")
MACHINES = [("GTX 1080", "535.104.05"), ("GB10", "580.95.05"), ("none", "")]


@pytest.mark.untraced
@pytest.mark.parametrize(("gpu", "driver"), MACHINES)
def test_what_is_named_is_broken_no_larger_than_needed_and_the_nearest_works(gpu: str, driver: str) -> None:
    for asked in combinations(ADDED, 2):
        plan = planned(gpu, driver, *asked)
        if plan.environment is not None:
            assert (plan.contradiction, plan.nearest) == ((), None)
            continue
        core = plan.contradiction
        assert set(core) <= set(asked)
        assert not works(gpu, driver, core, UNKNOWN_TOO), core
        assert len(core) == 1 or all(works(gpu, driver, (one,), UNKNOWN_TOO) for one in core), plan.headline
        if plan.nearest is not None:
            stated = combination(
                gpu, driver, *(pin.requirement for pin in plan.nearest.pins if pin.requirement != "numpy<2"), python=plan.nearest.python
            )
            assert check_combination(stated, ASSUMED_POLICY).diagnosis.verdict in WORKING, plan.headline
        else:
            assert not any(works(gpu, driver, (one,)) for one in asked if one != "numpy==2.1.0"), plan.headline


@functools.cache
def works(gpu: str, driver: str, core: tuple[str, ...], accepted: tuple[Verdict, ...] = (Verdict.READY, Verdict.DEGRADED)) -> bool:
    """Return whether some set of releases has an accepted verdict, tried one by one."""
    texts = [[text for _, text, _ in every_build(one, gpu)] or [one] for one in core]
    if texts == [["numpy==2.1.0"]]:
        return True
    return any(
        check_combination(combination(gpu, driver, *chosen), ASSUMED_POLICY).diagnosis.verdict in accepted for chosen in product(*texts)
    )


WORKING = (Verdict.READY, Verdict.DEGRADED)
UNKNOWN_TOO = (*WORKING, Verdict.UNKNOWN)


@pytest.mark.parametrize("pin", ["onnxruntime-gpu==0.5.0", "onnxruntime-gpu==1.8.1", "onnxruntime-gpu==1.10.0"])
@pytest.mark.parametrize("framework", ["torch", "tensorflow", "jax"])
def test_a_release_that_does_not_exist_is_named_alone_after_the_first_set(pin: str, framework: str) -> None:
    found = proposed_plan(question("a100", "580.65.06", pin, framework), MATRIX)
    assert found.plan.contradiction == (pin,), found.plan.headline
    assert len(found.search.answers.refused) <= 1
