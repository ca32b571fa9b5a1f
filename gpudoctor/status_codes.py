"""Status codes of CUDA, NVML and PCI, with the names from their headers."""

from __future__ import annotations

import enum


class CudaError(enum.IntEnum):
    """CUresult of the CUDA driver API: CUDA_ERROR_*."""

    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    STUB_LIBRARY = 34
    DEVICE_UNAVAILABLE = 46
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    DEVICE_NOT_LICENSED = 102
    INVALID_CONTEXT = 201
    NO_BINARY_FOR_GPU = 209
    ECC_UNCORRECTABLE = 214
    INVALID_PTX = 218
    NVLINK_UNCORRECTABLE = 220
    JIT_COMPILER_NOT_FOUND = 221
    UNSUPPORTED_PTX_VERSION = 222
    JIT_COMPILATION_DISABLED = 223
    CONTAINED = 226
    OPERATING_SYSTEM = 304
    ILLEGAL_ADDRESS = 700
    LAUNCH_FAILED = 719
    NOT_SUPPORTED = 801
    SYSTEM_NOT_READY = 802
    SYSTEM_DRIVER_MISMATCH = 803
    COMPAT_NOT_SUPPORTED_ON_DEVICE = 804
    MPS_CONNECTION_FAILED = 805
    MPS_RPC_FAILURE = 806
    MPS_SERVER_NOT_READY = 807
    MPS_MAX_CLIENTS_REACHED = 808
    MPS_MAX_CONNECTIONS_REACHED = 809
    MPS_CLIENT_TERMINATED = 810
    UNKNOWN = 999


MPS_ERRORS = {error for error in CudaError if error.name.startswith("MPS_")}
"""CUDA's errors when the Multi-Process Service fails."""
DRIVER_UNUSABLE_ERRORS = {CudaError.NOT_INITIALIZED, CudaError.NO_DEVICE, CudaError.UNKNOWN}
"""What cuInit returns if device files or nvidia_uvm are missing, and also while the driver is loading."""


class NvmlError(enum.IntEnum):
    """nvmlReturn_t: NVML_ERROR_*."""

    UNINITIALIZED = 1
    NO_PERMISSION = 4
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    IRQ_ISSUE = 11
    CORRUPTED_INFOROM = 14
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    LIB_RM_VERSION_MISMATCH = 18
    INSUFFICIENT_RESOURCES = 23
    NOT_READY = 27
    UNKNOWN = 999


class PciClass(str, enum.Enum):
    """The beginning of a PCI function's class code."""

    DISPLAY = "03"
    BRIDGE = "0680"
    """NVSwitches are among these."""
    ACCELERATOR = "12"


class PciVendor(str, enum.Enum):
    """PCI vendors of GPUs and other accelerators."""

    NVIDIA = "10de"
    AMD = "1002"
    GOOGLE = "1ae0"


LINK_WIDTHS = {0, 1, 2, 4, 8, 12, 16, 32}
"""Lanes of a PCI Express link that NVML and the kernel report; 0: the link is down. Of a device that does not answer they read 63 or 255, all ones."""
