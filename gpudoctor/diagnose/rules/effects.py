"""Consequences that many causes share."""

from __future__ import annotations

TRAINING_FAILS = ("smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")
"""The training run uses the CPU, fails or hangs."""
CUDA_FAILS = ("cuda-init-fails", "required-gpus-missing", *TRAINING_FAILS)
"""CUDA fails to initialise or shows fewer GPUs, and training fails."""
GPU_NOT_OPENED = ("gpu-missing-from-cuda", "gpu-count-mismatch")
"""NVML or CUDA does not open the GPU."""
GPU_UNUSABLE = ("uvm-broken-after-suspend", "uvm-not-loaded", "nvlink-inactive", "all-reduce-failed", *CUDA_FAILS)
"""Everything that a GPU takes with it when it no longer answers."""
GPU_IS_SLOW = ("gpu-behind-its-siblings", "gpu-slower-than-expected", "gpu-not-faster-than-cpu")
"""Measured on the GPU."""
DRIVER_NOT_LOADED = ("no-driver", "driver-library-mismatch", *CUDA_FAILS)
"""The NVIDIA driver cannot load, so neither NVML nor CUDA works."""
