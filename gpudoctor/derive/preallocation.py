"""Whether the GPU's memory is full because the framework takes it all when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from gpudoctor.frameworks import spec_of
from gpudoctor.frameworks.spec import FrameworkSpec

if TYPE_CHECKING:
    from gpudoctor.derive.views.machine import MachineView

_LEAST_SHARE = 0.7
"""Share of a GPU's memory from which a framework may have taken it in advance: JAX takes 75 %, TensorFlow all that is free.

https://docs.jax.dev/en/latest/gpu_memory_allocation.html"""


class PreallocatedMemory(msgspec.Struct, frozen=True):
    """A framework that takes memory in advance, and how much of a GPU's is in use."""

    spec: FrameworkSpec
    variable: str
    """What makes it take memory as it needs it, and the value."""
    value: str
    used: int
    total: int


def preallocated_memory(machine: MachineView) -> PreallocatedMemory | None:
    """Return the framework and the fullest GPU; None if no GPU is that full, or a framework that takes what it needs is there too."""
    specs = [spec_of(framework.name) for framework in machine.observed_frameworks]
    taker = next((spec for spec in specs if spec.preallocates), None)
    sizes = [(gpu.memory_used, gpu.memory_total) for gpu in machine.observed.listed_gpus]
    full = [(used, total) for used, total in sizes if isinstance(used, int) and isinstance(total, int) and used >= _LEAST_SHARE * total]
    if taker is None or taker.preallocates is None or not full or not all(spec.preallocates for spec in specs):
        return None
    return PreallocatedMemory(taker, *taker.preallocates, *max(full))
