"""What the NVML probe reads about each GPU, by which function, and how it converts the answers."""

import time

import gpudoctor_answer as answer

# nvml.h: nvmlComputeMode_t, nvmlGpuVirtualizationMode_t, nvmlDeviceGpuRecoveryAction_t,
# nvmlGpuTopologyLevel_t, nvmlGpuP2PStatus_t
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}
RECOVERY_ACTIONS = {
    0: "none", 1: "reset", 2: "reboot", 3: "drain-p2p", 4: "drain-and-reset", 5: "recover-imex-domain", 6: "bus-reset", 7: "system-reboot",
}  # fmt: skip
ANCESTORS = {0: "internal", 10: "single-switch", 20: "multiple-switches", 30: "host-bridge", 40: "numa-node", 50: "system"}
P2P = {0: "ok", 1: "chipset-not-supported", 2: "gpu-not-supported", 3: "topology-not-supported", 4: "disabled", 5: "not-supported"}
EXPIRY_VALID = 2  # NVML_GRID_LICENSE_EXPIRY_VALID
GPU_CORE, SHUTDOWN, SLOWDOWN, SM, MEMORY = 0, 0, 1, 1, 2
MEMORY_2 = 0x2000028  # nvmlMemory_v2, which counts the driver's reserve separately, as nvidia-smi does


class Into:
    """Stands for a struct of the binding that the function fills."""

    def __init__(self, name):
        self.name = name


MOST_CODES, MOST, MOST_BYTES = 1 << 16, 1 << 24, 1 << 50
"""Limits of enumerations, of numbers in degrees, milliwatts or megahertz, and of memory: what exceeds them is garbage."""
MOST_PIDS = (1 << 22) + 1  # PID_MAX_LIMIT of Linux


def sane(value, most=MOST, least=0):
    """The number; raises ValueError if it is garbage: the fact then counts as missing."""
    if not least <= value < most:
        raise ValueError("the driver returned %d, which no GPU has" % value)
    return int(value)


def word(words):
    """Converts a number to its word; one newer than this table stays a number."""
    return lambda value: (words.get(value, "code %d" % sane(value, MOST_CODES)),)


def text(value):
    return (answer.readable(value),)


def number(value):
    return (sane(value),)


def signed(value):
    return (sane(value, least=-MOST),)


def opaque(value):
    return (int(value),)


def boolean(value):
    if value not in (0, 1):
        raise ValueError("the driver returned %d, which is neither yes nor no" % value)
    return bool(value)


def truth(value):
    return (boolean(value),)


def both(value):
    return boolean(value[0]), boolean(value[1])


def numbers(value):
    return tuple(sane(one) for one in value)


def capability(value):
    major, minor = value
    return ("%d.%d" % (sane(major, 100), sane(minor, 100)),)


def cuda(value):
    return ("%d.%d" % (sane(value, 1000000) // 1000, value % 1000 // 10),)


def memory(value):
    """Total, free and used bytes; raises ValueError for a part that exceeds the whole."""
    total = sane(value.total, MOST_BYTES)
    return total, sane(value.free, total + 1), sane(value.used, total + 1)


def memory_and_reserved(value):
    return (*memory(value), getattr(value, "reserved", answer.missing("unsupported", "this driver does not report its reserve")))


def processes(value):
    unknown = answer.missing("unsupported", "the driver does not report this process's memory")
    return (
        [
            {
                "type": "gpu-process",
                "pid": sane(one.pid, MOST_PIDS),
                "memory": unknown if one.usedGpuMemory is None else sane(one.usedGpuMemory, MOST_BYTES),
            }
            for one in value
        ],
    )


def remapped(value):
    correctable, uncorrectable, pending, failed = value
    rows = {"correctable": sane(correctable), "uncorrectable": sane(uncorrectable), "pending": boolean(pending), "failed": boolean(failed)}
    return (dict(rows, type="remapped-rows"),)


def sram(value):
    uncorrected = value.aggregateUncParity + value.aggregateUncSecDed
    exceeded = boolean(value.bThresholdExceeded)
    return ({"type": "sram", "uncorrected_total": sane(uncorrected, MOST_BYTES), "threshold_exceeded": exceeded},)


def licences(value):
    wanted = value.gridLicensableFeatures[: value.licensableFeaturesCount] if value.isGridLicenseSupported else ()
    return (
        [
            {
                "type": "licence",
                "product": answer.readable(one.productName),
                "enabled": bool(one.featureEnabled),
                "licensed": bool(one.featureState),
                **expiry(one),
            }
            for one in wanted
        ],
    )


def expiry(feature):
    """The expiry of a licence and the seconds left until then."""
    end = getattr(feature, "licenseExpiry", None)
    if end is None or end.status != EXPIRY_VALID:
        unknown = answer.missing("unsupported", "the licence does not expire, or the driver does not report when")
        return {"expires": unknown, "seconds_left": unknown}
    import calendar  # several milliseconds, for virtual GPUs alone

    moment = (end.year, end.month, end.day, end.hour, end.min, end.sec)
    return {"expires": "%04d-%02d-%02dT%02d:%02d:%02dZ" % moment, "seconds_left": calendar.timegm(moment) - int(time.time())}


# fields, functions (the first that the driver has is called, with what follows the GPU), and the conversion of the answer.
# Processes come first, before we start any ourselves.
QUESTIONS = (
    (("compute_processes",), (("nvmlDeviceGetComputeRunningProcesses_v3",), ("nvmlDeviceGetComputeRunningProcesses_v2",)), processes),
    (("graphics_processes",), (("nvmlDeviceGetGraphicsRunningProcesses_v3",), ("nvmlDeviceGetGraphicsRunningProcesses_v2",)), processes),
    (("address",), (("nvmlDeviceGetPciInfo_v3",), ("nvmlDeviceGetPciInfo",)), lambda value: text(value.busId)),
    (("uuid",), (("nvmlDeviceGetUUID",),), text),
    (("name",), (("nvmlDeviceGetName",),), text),
    (("minor",), (("nvmlDeviceGetMinorNumber",),), number),
    (("compute_capability",), (("nvmlDeviceGetCudaComputeCapability",),), capability),
    (
        ("memory_total", "memory_free", "memory_used", "memory_reserved"),
        (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)),
        memory_and_reserved,
    ),
    (("mig_enabled", "mig_pending"), (("nvmlDeviceGetMigMode",),), both),
    (("ecc_enabled", "ecc_pending"), (("nvmlDeviceGetEccMode",),), both),
    (("sram",), (("nvmlDeviceGetSramEccErrorStatus", Into("c_nvmlEccSramErrorStatus_v1_t")),), sram),
    (("remapped_rows",), (("nvmlDeviceGetRemappedRows",),), remapped),
    (("inforom_checksum",), (("nvmlDeviceGetInforomConfigurationChecksum",),), opaque),
    (("compute_mode",), (("nvmlDeviceGetComputeMode",),), word(COMPUTE_MODES)),
    (("persistence",), (("nvmlDeviceGetPersistenceMode",),), truth),
    (("virtualization",), (("nvmlDeviceGetVirtualizationMode",),), word(VIRTUALIZATION)),
    (("link_generation",), (("nvmlDeviceGetCurrPcieLinkGeneration",),), number),
    (("link_generation_max",), (("nvmlDeviceGetMaxPcieLinkGeneration",),), number),
    (("link_width",), (("nvmlDeviceGetCurrPcieLinkWidth",),), number),
    (("link_width_max",), (("nvmlDeviceGetMaxPcieLinkWidth",),), number),
    (
        ("clocks_event_reasons",),
        (("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)),  # renamed in 535
        number,
    ),
    (("performance_state",), (("nvmlDeviceGetPerformanceState",),), number),
    (("utilization",), (("nvmlDeviceGetUtilizationRates",),), lambda value: number(value.gpu)),
    (("clock_sm",), (("nvmlDeviceGetClockInfo", SM),), number),
    (("clock_sm_max",), (("nvmlDeviceGetMaxClockInfo", SM),), number),
    (("clock_memory",), (("nvmlDeviceGetClockInfo", MEMORY),), number),
    (("clock_memory_max",), (("nvmlDeviceGetMaxClockInfo", MEMORY),), number),
    (("temperature",), (("nvmlDeviceGetTemperature", GPU_CORE),), number),
    (("temperature_slowdown",), (("nvmlDeviceGetTemperatureThreshold", SLOWDOWN),), number),
    (("temperature_shutdown",), (("nvmlDeviceGetTemperatureThreshold", SHUTDOWN),), number),
    (("power",), (("nvmlDeviceGetPowerUsage",),), number),
    (("power_limit",), (("nvmlDeviceGetEnforcedPowerLimit",),), number),
    (("power_limit_default",), (("nvmlDeviceGetPowerManagementDefaultLimit",),), number),
    (("power_limit_min", "power_limit_max"), (("nvmlDeviceGetPowerManagementLimitConstraints",),), numbers),
)
# only for virtual GPUs
LICENCES = (("nvmlDeviceGetGridLicensableFeatures_v4",),)
# for each MIG instance
MIG_QUESTIONS = (
    (("uuid",), (("nvmlDeviceGetUUID",),), text),
    (("name",), (("nvmlDeviceGetName",),), text),
    (("memory_total", "memory_free", "memory_used"), (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)), memory),
    (("gpu_instance",), (("nvmlDeviceGetGpuInstanceId",),), number),
    (("compute_instance",), (("nvmlDeviceGetComputeInstanceId",),), number),
    (("compute_processes",), (("nvmlDeviceGetComputeRunningProcesses_v3",), ("nvmlDeviceGetComputeRunningProcesses_v2",)), processes),
)
