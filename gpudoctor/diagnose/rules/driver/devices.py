"""GD2: a loaded kernel driver that programs do not reach: device files missing or stale, nvidia_uvm not loaded or broken."""

from __future__ import annotations

from gpudoctor.findings import Fix

_NVML_MISMATCH, _NVML_NO_PERMISSION, _CUDA_UNKNOWN = 18, 4, 999


_RESTART = Fix("Create the files on the host (`sudo nvidia-modprobe -c 0 -u`), then start the container again with its GPUs.")
