"""The table of root causes and consequences: which finding explains which."""

from __future__ import annotations

import enum

import msgspec


class Join(str, enum.Enum):
    """What cause and effect must share."""

    GPU = "same GPU"
    FRAMEWORK = "same framework"
    MACHINE = "machine"


class Explains(msgspec.Struct, frozen=True):
    """Where `cause` is found, `effect` follows from it."""

    cause: str
    effect: str
    join: Join = Join.MACHINE


def _explains(cause: str, *effects: str, join: Join = Join.MACHINE) -> tuple[Explains, ...]:
    return tuple(Explains(cause, effect, join) for effect in effects)


_SMOKE = ("smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")

CAUSALITY: tuple[Explains, ...] = (
    *_explains("no-gpu", "no-driver", "cuda-init-fails", "cuda-visible-devices-masked", *_SMOKE),
    *_explains("no-driver", "driver-library-mismatch", "device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("driver-library-mismatch", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("driver-hung", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("container-no-gpu-access", "no-driver", "device-permission-denied", "cuda-init-fails", "gpu-count-mismatch", *_SMOKE),
    *_explains("gpu-fell-off-bus", "gpu-count-mismatch", join=Join.GPU),
    *_explains("gpu-fell-off-bus", "cuda-init-fails", *_SMOKE),
    *_explains("gpu-count-mismatch", "cuda-init-fails", *_SMOKE),
    *_explains("cuda-visible-devices-masked", "cuda-init-fails", *_SMOKE),
    *_explains("cuda-init-fails", *_SMOKE),
    *_explains("smoke-ran-on-cpu", "smoke-crashed", join=Join.FRAMEWORK),
    *_explains("cpu-only-build", *_SMOKE, join=Join.FRAMEWORK),
    *_explains("driver-too-old", *_SMOKE, join=Join.FRAMEWORK),
)
"""The table; a test proves that it has no cycle and names only rules that exist."""
