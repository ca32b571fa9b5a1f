"""GD2: kernel driver, device nodes, NVML and libcuda."""
