"""The frameworks that gpudoctor knows. One more is a file here, named in CATALOGUE; its versions and bounds are in compat/."""

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
]

CATALOGUE = (TENSORFLOW, TORCH, JAX, PADDLE)
TRAINED = tuple(one.name for one in CATALOGUE if one.trains)
"""Those that the smoke training trains with."""
ADDONS = {name: (one.name, addon) for one in CATALOGUE for name, addon in one.addons.items()}
"""By distribution: the framework that an add-on is for, and the add-on."""
MISTAKEN = {name: meant for one in CATALOGUE for name, meant in one.mistaken.items()}
"""Names that people use for packages that the index has under another name."""

_BY_NAME = {one.name: one for one in CATALOGUE}
_BY_DISTRIBUTION = {name: one.name for one in CATALOGUE for name in one.distributions}


def spec_of(name: str) -> FrameworkSpec:
    """The traits of the framework of this name; those of none where the catalogue lacks it."""
    return _BY_NAME.get(name) or FrameworkSpec(name=name, title=name)


def framework_of(distribution: str) -> str | None:
    """The framework that a distribution of this normalised name is; None where it is none."""
    return _BY_DISTRIBUTION.get(distribution)


def stack_of(distribution: str) -> str | None:
    """The framework whose stack a distribution belongs to; None where it belongs to none."""
    return framework_of(distribution) or next((one.name for one in CATALOGUE if distribution in one.parts), None)
