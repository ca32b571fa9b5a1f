"""The recipes of scripts/preflight, each run by the program that it is for, on machines that are ready, broken and unknown."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tests.machines.recipes.base import NOT_LOADED, cards
from tests.seams import Cuda, Nvml, Tree

ROOT = Path(__file__).resolve().parents[3]
RECIPES = ROOT / "scripts" / "preflight"

Recipe = tuple[Tree, tuple[Nvml | Cuda, ...]]
READY: Recipe = Tree(pci=cards(1), kernel_driver="550.163.01"), (Nvml(gpus=1), Cuda(gpus=1))
BROKEN: Recipe = Tree(pci=cards(1, "nouveau"), modules=("nouveau",)), NOT_LOADED
UNKNOWN: Recipe = READY[0], (Nvml(calls={"nvmlDeviceGetMemoryInfo": "return 3"}), Cuda(calls={"cuDeviceTotalMem": "return 999"}))
"""If memory is required: neither library reports it."""
MEMORY = ("memory>=40GB",)


class Machine(Protocol):
    """`machine(READY)` is the real gpudoctor on that machine, a program that needs no environment; a later machine replaces it."""

    def __call__(self, recipe: Recipe, require: tuple[str, ...] = ()) -> Path: ...


def run(*command: str | Path, env: Mapping[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """The finished command, in this environment or in ours."""
    return subprocess.run(command, env=os.environ if env is None else env, capture_output=True, text=True, timeout=120, check=False, **more)
