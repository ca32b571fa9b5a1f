"""Which GPUs CUDA_VISIBLE_DEVICES leaves visible, from CUDA's answers with and without it."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import Libcuda, Missing, Snapshot, Variables
from gpudoctor.status_codes import CudaError

MASK_VARIABLE = "CUDA_VISIBLE_DEVICES"


class Visibility(msgspec.Struct, frozen=True):
    """The variable's value, and how many devices CUDA shows with and without it."""

    value: str
    shown: int
    total: int

    @property
    def entries(self) -> tuple[str, ...]:
        """The devices that the value names; "" names none, and everything from -1 on is ignored."""
        named = []
        for entry in (part.strip() for part in self.value.split(",")):
            if not entry or entry.startswith("-"):
                break
            named.append(entry)
        return tuple(named)


def _device_count(section: Libcuda | Missing) -> int | Missing:
    """How many devices CUDA shows; zero if cuInit reports no device."""
    if isinstance(section, Missing):
        return section
    if not isinstance(section.init, Missing) and section.init.code == CudaError.NO_DEVICE:
        return 0
    return section.devices if isinstance(section.devices, Missing) else len(section.devices)


def visibility_of_gpus(snapshot: Snapshot) -> Visibility | Missing | None:
    """None if the variable is not set; Missing if CUDA could not be queried both ways."""
    if isinstance(snapshot.variables, Missing):
        return snapshot.variables
    assert isinstance(snapshot.variables, Variables)  # noqa: S101 -- for mypy
    value = snapshot.variables.values.get(MASK_VARIABLE)
    if value is None:
        return None
    shown, there = _device_count(snapshot.libcuda), _device_count(snapshot.libcuda_unmasked)
    if isinstance(shown, Missing):
        return shown
    return there if isinstance(there, Missing) else Visibility(value, shown, there)
