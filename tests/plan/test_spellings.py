"""Versions and GPU names as people and tools write them."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.plan import Combination
from gpudoctor.plan.spellings import normalised_combination


def read_as(field: str, written: str) -> object:
    stated: dict[str, Any] = {field: written}
    return getattr(normalised_combination(Combination(requirements=(), **stated)), field)


@pytest.mark.parametrize(
    ("field", "written", "read"),
    [
        ("driver", "v535.104.05", "535.104.05"),
        ("driver", "R580", "580"),
        ("driver", "32.0.15.6094", "560.94"),
        ("driver", "27.21.14.5671", "456.71"),
        ("python", "cp312", "3.12"),
        ("python", "Python 3.12.1", "3.12.1"),
        ("python", "py39", "3.9"),
        ("python", "313t", "3.13t"),
        ("cc", "sm_89", "8.9"),
        ("cc", "compute_120", "12.0"),
        ("cc", "90a", "9.0"),
        ("system_cuda", "cu124", "12.4"),
        ("system_cuda", "CUDA 11.8", "11.8"),
        ("cuda_compat", "v12.8", "12.8"),
        ("system_cudnn", "cuDNN 8.9.7", "8.9.7"),
    ],
)
def test_other_spellings_of_a_version(field: str, written: str, read: str) -> None:
    assert read_as(field, written) == read


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("driver", "535.104.05"),
        ("driver", "12.4"),
        ("driver", "32.0.15"),
        ("python", "3.12.1"),
        ("python", "3.14t"),
        ("python", "pypy3.10"),
        ("cc", "8.6"),
        ("cc", "10"),
        ("cc", "8"),
        ("system_cuda", "12"),
        ("system_cuda", "rocm6.2"),
        ("system_cudnn", "9.3.0.75"),
    ],
)
def test_what_is_written_as_documented_or_not_understood_stays(field: str, written: str) -> None:
    assert read_as(field, written) == written


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("RTX 3090", ("RTX 3090",)),
        ("2x RTX 3090", ("RTX 3090", "RTX 3090")),
        ("4*A100", ("A100",) * 4),
        ("2x4090", ("4090", "4090")),
        ("0x2684", ("0x2684",)),
        ("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5f2a)", ("NVIDIA A100-SXM4-80GB",)),
        ("NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)", ("GeForce RTX 3090",)),
        ("GP102 [GeForce GTX 1080 Ti]", ("GeForce GTX 1080 Ti",)),
        ("NVIDIA TITAN X (Pascal)", ("NVIDIA TITAN X (Pascal)",)),
        ("NVIDIA RTX PRO 6000 [Max-Q] Edition", ("NVIDIA RTX PRO 6000 [Max-Q] Edition",)),
    ],
)
def test_gpus_as_tools_print_and_count_them(written: str, read: tuple[str, ...]) -> None:
    assert normalised_combination(Combination(requirements=(), gpus=(written,))).gpus == read


def test_a_build_is_the_same_in_capitals() -> None:
    asked = normalised_combination(Combination(requirements=("torch==2.5.1+CU121", "numpy==1.26.4", "jax[cuda12]>=0.5")))
    assert asked.requirements == ("torch==2.5.1+cu121", "numpy==1.26.4", "jax[cuda12]>=0.5")
