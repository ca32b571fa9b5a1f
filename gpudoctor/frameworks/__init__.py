"""The frameworks that gpudoctor knows. To add one, add a file here and name it in CATALOGUE; its versions and bounds are in compat/."""

from __future__ import annotations

from gpudoctor.frameworks.jax import JAX
from gpudoctor.frameworks.paddle import PADDLE
from gpudoctor.frameworks.spec import Addon, BuildFile, CudaPlugin, FrameworkSpec, HidingVariable, Names, OnWindows
from gpudoctor.frameworks.tensorflow import TENSORFLOW
from gpudoctor.frameworks.torch import TORCH

__all__ = [
    "ADDONS",
    "CATALOGUE",
    "MISTAKEN",
    "NVIDIA_PACKAGES",
    "SPANNING_NODES",
    "TRAINED",
    "Addon",
    "BuildFile",
    "CudaPlugin",
    "FrameworkSpec",
    "HidingVariable",
    "Names",
    "OnWindows",
    "framework_of",
    "spec_of",
    "stack_of",
    "tracing_framework",
]

CATALOGUE = (TENSORFLOW, TORCH, JAX, PADDLE)
TRAINED = tuple(spec.name for spec in CATALOGUE if spec.trains)
"""The frameworks that the smoke training supports."""
SPANNING_NODES = next(spec.name for spec in CATALOGUE if spec.spans_nodes)
"""The framework that runs the all-reduce between nodes."""
ADDONS = {name: (spec.name, addon) for spec in CATALOGUE for name, addon in spec.addons.items()}
"""By distribution: the framework that an add-on extends, and the add-on."""
MISTAKEN = {name: meant for spec in CATALOGUE for name, meant in spec.mistaken.items()}
"""What people call packages that have another name on the index."""

NVIDIA_PACKAGES = ("nvidia-", "cuda-")
"""How the names of the packages with CUDA's libraries begin."""
_BY_NAME = {spec.name: spec for spec in CATALOGUE}
_BY_DISTRIBUTION = {name: spec.name for spec in CATALOGUE for name in spec.distributions}


def spec_of(name: str) -> FrameworkSpec:
    """The traits of the framework of this name; the defaults if the catalogue lacks it."""
    return _BY_NAME.get(name) or FrameworkSpec(name=name, title=name)


def tracing_framework(traced_by: str) -> FrameworkSpec:
    """The traits of the framework that "keras 3.11, on tensorflow" names; the defaults if it names none."""
    return next((spec for spec in CATALOGUE if spec.traced_within and spec.name in traced_by), spec_of(""))


def framework_of(distribution: str) -> str | None:
    """The framework that a distribution of this normalised name is; None if it is none."""
    return _BY_DISTRIBUTION.get(distribution)


def stack_of(distribution: str) -> str | None:
    """The framework whose stack a distribution belongs to; None if it belongs to none."""
    return framework_of(distribution) or next((spec.name for spec in CATALOGUE if distribution in spec.parts), None)
