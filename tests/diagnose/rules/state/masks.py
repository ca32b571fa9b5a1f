"""Machines whose CUDA_VISIBLE_DEVICES leaves some of the GPUs."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.snapshot import Missing, Snapshot, Variables
from tests.builders import libcuda, machine


def masked(value: str, shown: int, uuids: tuple[str, ...] = ("GPU-aa", "GPU-bb"), **changes: Any) -> Snapshot:
    """GPUs with these UUIDs; CUDA shows the first few."""
    whole = libcuda(len(uuids))
    assert not isinstance(whole.devices, Missing)
    devices = tuple(msgspec.structs.replace(device, uuid=uuid) for device, uuid in zip(whole.devices, uuids, strict=True))
    seen = libcuda(shown) if shown else libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")
    unmasked = msgspec.structs.replace(whole, devices=devices)
    variables = Variables({"CUDA_VISIBLE_DEVICES": value})
    return machine(len(uuids), variables=variables, libcuda=seen, libcuda_unmasked=unmasked, **changes)
