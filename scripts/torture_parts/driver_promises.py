"""Which driver functions tell something that a check promises, and why the others do not.

A check that says "ready" promises that programs can use each GPU. What only describes a GPU, or makes it slower, is reported as not checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

DEATHS: Final = ("crash", "leave", "hang")
NOT_SUPPORTED: Final = {"nvml": (3, 4, 13, 25), "cu": (801,)}
"""Codes that healthy machines return: the card lacks the feature, the library the function or its version, or the call needs root."""
LOST: Final = "return 15"
"""NVML_ERROR_GPU_IS_LOST."""
KERNEL: Final = "whether a kernel runs"
PROMISED: Final[Mapping[str, str]] = {
    "nvmlInit": "whether the driver works",
    "nvmlDeviceGetCount": "which GPUs there are",
    "nvmlDeviceGetHandleByIndex": "whether each GPU answers",
    "nvmlDeviceGetPciInfo": "which GPU is which",
    "nvmlDeviceGetComputeMode": "whether programs may use it",
    "nvmlDeviceGetMigMode": "whether it can be used without an instance",
    "nvmlDeviceGetMemoryInfo": "whether it has free memory",
    "nvmlDeviceGetFieldValues": "its errors, and whether it needs a reset",
    "nvmlSystemGetConfComputeState": "whether it accepts work",
    "cuInit": "whether CUDA initialises",
    "cuDeviceGetCount": "which GPUs CUDA shows",
    "cuDeviceGet": "whether CUDA shows each of them",
    **dict.fromkeys(
        (
            "cuDevicePrimaryCtxRetain",
            "cuCtxSetCurrent",
            "cuModuleLoadData",
            "cuModuleGetFunction",
            "cuMemAlloc",
            "cuMemsetD32",
            "cuLaunchKernel",
            "cuCtxSynchronize",
            "cuMemcpyDtoH",
        ),
        KERNEL,
    ),
}
"""What each function tells that the check promises."""
_BY_REASON: Final[Mapping[str, tuple[str, ...]]] = {
    "it describes the GPU for people and tickets": (
        "nvmlDeviceGetName",
        "nvmlDeviceGetBoardId",
        "nvmlDeviceGetBoardPartNumber",
        "nvmlDeviceGetSerial",
        "nvmlDeviceGetVbiosVersion",
        "nvmlDeviceGetInforomImageVersion",
        "nvmlDeviceGetInforomVersion",
        "nvmlDeviceGetGspFirmwareVersion",
        "nvmlDeviceGetGspFirmwareMode",
        "nvmlDeviceGetPlatformInfo",
        "nvmlDeviceGetNumaNodeId",
        "nvmlDeviceGetArchitecture",
        "cuDeviceGetName",
        "cuDeviceTotalMem",
        "nvmlSystemGetProcessName",
        "nvmlDeviceGetPersistenceMode",
        "nvmlDeviceGetUtilizationRates",
    ),
    "the PCI address says the same": ("nvmlDeviceGetUUID", "nvmlDeviceGetMinorNumber", "cuDeviceGetUuid", "cuDeviceGetPCIBusId"),
    "the kernel module or libcuda says the same": (
        "nvmlSystemGetDriverVersion",
        "nvmlSystemGetNVMLVersion",
        "nvmlSystemGetCudaDriverVersion",
        "cuDriverGetVersion",
        "nvmlDeviceGetCudaComputeCapability",
        "cuDeviceGetAttribute",
    ),
    "it says how fast the GPU is, not whether it works": (
        "nvmlDeviceGetClockInfo",
        "nvmlDeviceGetMaxClockInfo",
        "nvmlDeviceGetApplicationsClock",
        "nvmlDeviceGetDefaultApplicationsClock",
        "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetPerformanceState",
        "nvmlDeviceGetPowerUsage",
        "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceGetPowerManagementDefaultLimit",
        "nvmlDeviceGetPowerManagementLimitConstraints",
        "nvmlDeviceGetCurrPcieLinkGeneration",
        "nvmlDeviceGetCurrPcieLinkWidth",
        "nvmlDeviceGetMaxPcieLinkGeneration",
        "nvmlDeviceGetMaxPcieLinkWidth",
        "nvmlDeviceGetGpuMaxPcieLinkGeneration",
        "nvmlDeviceGetBAR1MemoryInfo",
        "nvmlDeviceGetTemperature",
        "nvmlDeviceGetTemperatureThreshold",
        "nvmlDeviceGetMarginTemperature",
    ),
    "it counts past errors; one that still matters is an error of every call": (
        "nvmlDeviceGetEccMode",
        "nvmlDeviceGetMemoryErrorCounter",
        "nvmlDeviceGetSramEccErrorStatus",
        "nvmlDeviceGetRemappedRows",
        "nvmlDeviceGetRowRemapperHistogram",
        "nvmlDeviceGetInforomConfigurationChecksum",
    ),
    "it is about several GPUs together, and the level promises each of them": (
        "nvmlDeviceGetTopologyCommonAncestor",
        "nvmlDeviceGetP2PStatus",
        "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetNvLinkRemoteDeviceType",
        "nvmlDeviceGetNvLinkErrorCounter",
        "nvmlDeviceGetGpuFabricInfo",
        "nvmlDeviceGetGpuFabricInfoV",
    ),
    "the memory in use is known without the programs that use it": (
        "nvmlDeviceGetComputeRunningProcesses",
        "nvmlDeviceGetGraphicsRunningProcesses",
    ),
    "CUDA lists the instances that programs can use": (
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex",
        "nvmlDeviceGetGpuInstanceId",
        "nvmlDeviceGetComputeInstanceId",
    ),
    "it matters with confidential computing alone, which another call tells": ("nvmlSystemGetConfComputeGpusReadyState",),
    "it matters on a virtual GPU alone, which computes without a licence, slower": (
        "nvmlDeviceGetVirtualizationMode",
        "nvmlDeviceGetGridLicensableFeatures",
    ),
    "it puts an error into words": ("cuGetErrorName", "cuGetErrorString"),
    "the kernel has run": ("cuMemFree", "cuModuleUnload", "cuDevicePrimaryCtxRelease", "cuMemGetInfo"),
}
UNPROMISED: Final[Mapping[str, str]] = {name: reason for reason, names in _BY_REASON.items() for name in names}
"""Why a check may say "ready" where a function fails."""
BESIDE: Final = frozenset(
    {
        "nvmlDeviceGetTopologyCommonAncestor",
        "nvmlDeviceGetP2PStatus",
        "cuMemFree",
        "cuModuleUnload",
        "cuDevicePrimaryCtxRelease",
    }
)
"""Called last, about pairs of GPUs or after the kernel: nothing that the level promises depends on them."""


def wrongly_ready(function: str, fault: str, verdict: str) -> str:
    """Return why "ready" is wrong in a cell; empty if it is right, or was not said."""
    if verdict != "ready" or fault.startswith("sleep") or (fault.startswith("spoil") and PROMISED.get(function) == KERNEL):
        return ""  # a kernel whose result is right ran
    family = "nvml" if function.startswith("nvml") else "cu"
    if function in PROMISED and fault not in {f"return {code}" for code in NOT_SUPPORTED[family]}:
        return f"ready, although {PROMISED[function]} is unknown"
    if fault in DEATHS and function not in BESIDE:
        return "ready, although the driver library did not survive"
    return "ready, although a GPU is lost" if (fault, family) == (LOST, "nvml") and _about_a_gpu(function) else ""


def _about_a_gpu(function: str) -> bool:
    return function.startswith("nvmlDevice") and function not in BESIDE
