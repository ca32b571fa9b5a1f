"""GD2: kernel driver, device files, NVML and libcuda."""
