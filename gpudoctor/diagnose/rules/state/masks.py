"""GD1 and GD7: settings that hide a GPU from programs, and what our own kernel met on a GPU."""

from __future__ import annotations

from gpudoctor.snapshot import CudaDevice, Libcuda, Snapshot


def _devices(snapshot: Snapshot) -> tuple[CudaDevice, ...]:
    return snapshot.libcuda.devices if isinstance(snapshot.libcuda, Libcuda) and isinstance(snapshot.libcuda.devices, tuple) else ()
