"""Machines with something that no rule or table can check, and those on which only the machine is checked."""

from __future__ import annotations

from tests.machines.packages import Package, torch
from tests.machines.recipes.base import TF, Recipe, healthy

PADDLE = Package(
    "paddlepaddle-gpu",
    "2.6.2",
    {
        "paddle/__init__.py": "",
        "paddle/version/__init__.py": "full_version     = '2.6.2'\ncuda_version     = '11.8'\ncudnn_version    = '8.6.0'\n",
    },
    ("protobuf>=3.20.2", "numpy>=1.13"),
)

RECIPES: dict[str, Recipe] = {
    "torch-of-a-vendor": healthy(
        about="a vendor's build of PyTorch that no table lists, whose libraries hold no readable GPU code",
        packages=(torch("2.6.0a0+df5bbc09d1.nv24.12", "12.4"),),
        verdict="unknown",
    ),
    "paddle-beside-tensorflow": healthy(
        about="healthy TensorFlow beside PaddlePaddle, whose kernels the matrix knows",
        packages=(TF, PADDLE),
        verdict="unknown",
    ),
    "node-alone": healthy(
        8,
        about="eight A100 of a node on which nobody has made a Python environment yet",
        packages=(),
        arguments=("--node",),
        verdict="ready",
    ),
    "look-without-a-framework": healthy(
        about="a look into an environment that holds no framework",
        packages=(),
        verdict="unknown",
        notes=("framework-missing",),
    ),
}
