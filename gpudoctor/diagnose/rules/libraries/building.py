"""GD4: what a machine has to build CUDA code with. Nothing of it is needed to train, so that these are notes."""

from __future__ import annotations

from gpudoctor.derive import Hardware
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.snapshot import Toolkit

HOMES = ("CUDA_HOME", "CUDA_PATH")
"""The variables that PyTorch's and others' build tools ask first, in their order."""


_ORDER = (*HOMES, "PATH", "/usr/local/cuda")


def _with_gpu(hardware: Hardware) -> None:
    if not hardware:
        not_applicable("there is no NVIDIA GPU to build for")


def chosen(toolkits: tuple[Toolkit, ...]) -> Toolkit | None:
    """The toolkit that a build would take: of CUDA_HOME, of nvcc on PATH, else /usr/local/cuda."""
    for name in _ORDER:
        found = next((one for one in toolkits if name in one.named_by or name == one.path), None)
        if found is not None:
            return found
    return None


def _nvcc(toolkits: tuple[Toolkit, ...]) -> Toolkit:
    """The same, if it has a compiler; ends the rule where there is none."""
    found = chosen(toolkits)
    if found is None or not isinstance(found.nvcc, str):
        not_applicable("no nvcc is there that a build would take")
    return found
