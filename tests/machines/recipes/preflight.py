"""Machines with --require: met, not met, lost, and unknown."""

from __future__ import annotations

from dataclasses import replace

from tests.machines.recipes.base import Recipe, healthy, lost_of_eight
from tests.seams import Cuda, Nvml

LOOK = ("--level", "look")


def _requiring(recipe: Recipe, about: str, *wanted: str, **changes: object) -> Recipe:
    arguments = (*LOOK, *(word for one in wanted for word in ("--require", one)))
    return replace(recipe, about=about, arguments=arguments, **changes)  # type: ignore[arg-type]


RECIPES: dict[str, Recipe] = {
    "requirements-met": _requiring(
        healthy(8),
        "eight A100 that are all that is required",
        "driver>=550",
        "gpus==8",
        "memory>=80GiB",
        "cc>=8.0",
        "tensorflow>=2.18,<3",
    ),
    "required-driver-newer": _requiring(
        healthy(),
        "driver 550 and a TensorFlow, both older than is required, on a GPU smaller than is required",
        "driver>=560",
        "tensorflow>=2.19",
        "memory>=100GB",
        verdict="broken",
        roots=("requirement-not-met", "requirement-not-met", "requirement-not-met"),
    ),
    "required-framework-missing": _requiring(
        healthy(),
        "TensorFlow is installed, PyTorch is required too",
        "tensorflow",
        "torch>=2.4",
        verdict="broken",
        roots=("framework-missing",),
    ),
    "required-eight-one-lost": _requiring(
        lost_of_eight(),
        "eight GPUs are required and the fourth is lost: one cause, beneath which the requirement is told",
        "gpus==8",
        folded=("gpu-count-mismatch", "required-gpus-missing"),
    ),
    "required-eight-two-allotted": _requiring(
        healthy(8),
        "eight GPUs are required in a job that was assigned two",
        "gpus==8",
        environment={"CUDA_VISIBLE_DEVICES": "2,5", "SLURM_JOB_ID": "77"},
        verdict="broken",
        roots=("required-gpus-missing",),
    ),
    "required-memory-not-told": _requiring(
        healthy(),
        "memory is required and neither NVML nor CUDA says how much there is: not known is not met",
        "memory>=40GiB",
        libraries=(Nvml(calls={"nvmlDeviceGetMemoryInfo": "return 3"}), Cuda(calls={"cuDeviceTotalMem": "return 999"})),
        verdict="unknown",
    ),
}
