"""Consequences that many causes share."""

from __future__ import annotations

TRAINING_FAILS = ("framework-import-fails", "smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")
"""The training run uses the CPU, fails or hangs."""
CUDA_FAILS = ("cuda-init-fails", "required-gpus-missing", *TRAINING_FAILS)
"""CUDA fails to initialise or shows fewer GPUs, and training fails."""
GPU_NOT_OPENED = ("gpu-missing-from-cuda", "gpu-count-mismatch")
"""NVML or CUDA does not open the GPU."""
GPU_IS_SLOW = ("gpu-behind-its-siblings", "gpu-slower-than-expected", "gpu-not-faster-than-cpu")
"""A rate measured on the GPU is low."""
DRIVER_NOT_LOADED = ("no-driver", "driver-library-mismatch", *CUDA_FAILS)
"""The NVIDIA driver cannot load, so neither NVML nor CUDA works."""
