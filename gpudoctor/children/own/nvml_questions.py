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


class StructArgument:
    """Stands for a struct of the binding that the function fills."""

    def __init__(self, name):
        self.name = name


MAX_CODES, MAX_NUMBER, MAX_BYTES = 1 << 16, 1 << 24, 1 << 50
"""Limits of enumerations, of numbers in degrees, milliwatts or megahertz, and of memory: what exceeds them is garbage."""
MAX_PIDS = (1 << 22) + 1  # PID_MAX_LIMIT of Linux


def checked_number(value, most=MAX_NUMBER, least=0):
    """The number; raises ValueError if it is garbage: the fact then counts as missing."""
    if not least <= value < most:
        raise ValueError("the driver returned %d, which no GPU has" % value)
    return int(value)


def word_of_code(words):
    """Converts a number to its word; one newer than this table stays a number."""
    return lambda value: (words.get(value, "code %d" % checked_number(value, MAX_CODES)),)


def as_text(value):
    return (answer.printable_text(value),)


def as_number(value):
    return (checked_number(value),)


def as_signed_number(value):
    return (checked_number(value, least=-MAX_NUMBER),)


def as_identifier(value):
    return (int(value),)


def checked_bool(value):
    if value not in (0, 1):
        raise ValueError("the driver returned %d, which is neither yes nor no" % value)
    return bool(value)


def as_bool(value):
    return (checked_bool(value),)


def as_bool_pair(value):
    return checked_bool(value[0]), checked_bool(value[1])


def as_numbers(value):
    return tuple(checked_number(one) for one in value)


def as_compute_capability(value):
    major, minor = value
    return ("%d.%d" % (checked_number(major, 100), checked_number(minor, 100)),)


def as_cuda_version(value):
    return ("%d.%d" % (checked_number(value, 1000000) // 1000, value % 1000 // 10),)


def as_memory(value):
    """Total, free and used bytes; raises ValueError for a part that exceeds the whole."""
    total = checked_number(value.total, MAX_BYTES)
    return total, checked_number(value.free, total + 1), checked_number(value.used, total + 1)


def as_memory_with_reserve(value):
    return (*as_memory(value), getattr(value, "reserved", answer.missing("unsupported", "this driver does not report its reserve")))


def as_processes(value):
    unknown = answer.missing("unsupported", "the driver does not report this process's memory")
    return (
        [
            {
                "type": "gpu-process",
                "pid": checked_number(one.pid, MAX_PIDS),
                "memory": unknown if one.usedGpuMemory is None else checked_number(one.usedGpuMemory, MAX_BYTES),
            }
            for one in value
        ],
    )


def as_remapped_rows(value):
    correctable, uncorrectable, pending, failed = value
    rows = {
        "correctable": checked_number(correctable),
        "uncorrectable": checked_number(uncorrectable),
        "pending": checked_bool(pending),
        "failed": checked_bool(failed),
    }
    return (dict(rows, type="remapped-rows"),)


def as_sram_errors(value):
    uncorrected = value.aggregateUncParity + value.aggregateUncSecDed
    exceeded = checked_bool(value.bThresholdExceeded)
    return ({"type": "sram", "uncorrected_total": checked_number(uncorrected, MAX_BYTES), "threshold_exceeded": exceeded},)


def as_licences(value):
    wanted = value.gridLicensableFeatures[: value.licensableFeaturesCount] if value.isGridLicenseSupported else ()
    return (
        [
            {
                "type": "licence",
                "product": answer.printable_text(one.productName),
                "enabled": bool(one.featureEnabled),
                "licensed": bool(one.featureState),
                **expiry_of_licence(one),
            }
            for one in wanted
        ],
    )


def expiry_of_licence(feature):
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
    (("compute_processes",), (("nvmlDeviceGetComputeRunningProcesses_v3",), ("nvmlDeviceGetComputeRunningProcesses_v2",)), as_processes),
    (("graphics_processes",), (("nvmlDeviceGetGraphicsRunningProcesses_v3",), ("nvmlDeviceGetGraphicsRunningProcesses_v2",)), as_processes),
    (("address",), (("nvmlDeviceGetPciInfo_v3",), ("nvmlDeviceGetPciInfo",)), lambda value: as_text(value.busId)),
    (("uuid",), (("nvmlDeviceGetUUID",),), as_text),
    (("name",), (("nvmlDeviceGetName",),), as_text),
    (("minor",), (("nvmlDeviceGetMinorNumber",),), as_number),
    (("compute_capability",), (("nvmlDeviceGetCudaComputeCapability",),), as_compute_capability),
    (
        ("memory_total", "memory_free", "memory_used", "memory_reserved"),
        (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)),
        as_memory_with_reserve,
    ),
    (("mig_enabled", "mig_pending"), (("nvmlDeviceGetMigMode",),), as_bool_pair),
    (("ecc_enabled", "ecc_pending"), (("nvmlDeviceGetEccMode",),), as_bool_pair),
    (("sram",), (("nvmlDeviceGetSramEccErrorStatus", StructArgument("c_nvmlEccSramErrorStatus_v1_t")),), as_sram_errors),
    (("remapped_rows",), (("nvmlDeviceGetRemappedRows",),), as_remapped_rows),
    (("inforom_checksum",), (("nvmlDeviceGetInforomConfigurationChecksum",),), as_identifier),
    (("compute_mode",), (("nvmlDeviceGetComputeMode",),), word_of_code(COMPUTE_MODES)),
    (("persistence",), (("nvmlDeviceGetPersistenceMode",),), as_bool),
    (("virtualization",), (("nvmlDeviceGetVirtualizationMode",),), word_of_code(VIRTUALIZATION)),
    (("link_generation",), (("nvmlDeviceGetCurrPcieLinkGeneration",),), as_number),
    (("link_generation_max",), (("nvmlDeviceGetMaxPcieLinkGeneration",),), as_number),
    (("link_width",), (("nvmlDeviceGetCurrPcieLinkWidth",),), as_number),
    (("link_width_max",), (("nvmlDeviceGetMaxPcieLinkWidth",),), as_number),
    (
        ("clocks_event_reasons",),
        (("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)),  # renamed in 535
        as_number,
    ),
    (("performance_state",), (("nvmlDeviceGetPerformanceState",),), as_number),
    (("utilization",), (("nvmlDeviceGetUtilizationRates",),), lambda value: as_number(value.gpu)),
    (("clock_sm",), (("nvmlDeviceGetClockInfo", SM),), as_number),
    (("clock_sm_max",), (("nvmlDeviceGetMaxClockInfo", SM),), as_number),
    (("clock_memory",), (("nvmlDeviceGetClockInfo", MEMORY),), as_number),
    (("clock_memory_max",), (("nvmlDeviceGetMaxClockInfo", MEMORY),), as_number),
    (("temperature",), (("nvmlDeviceGetTemperature", GPU_CORE),), as_number),
    (("temperature_slowdown",), (("nvmlDeviceGetTemperatureThreshold", SLOWDOWN),), as_number),
    (("temperature_shutdown",), (("nvmlDeviceGetTemperatureThreshold", SHUTDOWN),), as_number),
    (("power",), (("nvmlDeviceGetPowerUsage",),), as_number),
    (("power_limit",), (("nvmlDeviceGetEnforcedPowerLimit",),), as_number),
    (("power_limit_default",), (("nvmlDeviceGetPowerManagementDefaultLimit",),), as_number),
    (("power_limit_min", "power_limit_max"), (("nvmlDeviceGetPowerManagementLimitConstraints",),), as_numbers),
)
# only for virtual GPUs
LICENCES = (("nvmlDeviceGetGridLicensableFeatures_v4",),)
# for each MIG instance
MIG_QUESTIONS = (
    (("uuid",), (("nvmlDeviceGetUUID",),), as_text),
    (("name",), (("nvmlDeviceGetName",),), as_text),
    (("memory_total", "memory_free", "memory_used"), (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)), as_memory),
    (("gpu_instance",), (("nvmlDeviceGetGpuInstanceId",),), as_number),
    (("compute_instance",), (("nvmlDeviceGetComputeInstanceId",),), as_number),
    (("compute_processes",), (("nvmlDeviceGetComputeRunningProcesses_v3",), ("nvmlDeviceGetComputeRunningProcesses_v2",)), as_processes),
)
