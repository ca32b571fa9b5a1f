/* A libnvidia-ml.so.1 that plays the scenario named by FAKE_NVML. Compiled against NVIDIA's nvml.h, so the compiler checks every signature.
 *
 * A fact that the scenario does not give is NVML_ERROR_NOT_SUPPORTED, as on cards that lack it. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include "scenario.h"

#define MOST_GPUS 72
#define MOST_MIG 7 /* a card splits into at most seven */

struct nvmlDevice_st { int gpu, mig; char prefix[32]; };
static struct nvmlDevice_st devices[MOST_GPUS][1 + MOST_MIG];
static unsigned gpu_count;
static int users;

__attribute__((constructor)) static void start(void)
{
    load_scenario("FAKE_NVML");
    gpu_count = number_of("", "gpus", 0);
    for (int gpu = 0; gpu < MOST_GPUS; gpu++)
        for (int mig = 0; mig <= MOST_MIG; mig++) {
            struct nvmlDevice_st *device = &devices[gpu][mig];
            device->gpu = gpu;
            device->mig = mig;
            snprintf(device->prefix, sizeof device->prefix, mig ? "gpu.%d.mig.%d." : "gpu.%d.", gpu, mig - 1);
        }
}

static nvmlReturn_t enter(const char *function, nvmlDevice_t device, const void *out)
{
    if (!users) return NVML_ERROR_UNINITIALIZED;
    if (!out) return NVML_ERROR_INVALID_ARGUMENT;
    int code = act(function, device ? device->gpu : -1);
    return code == HEALTHY ? NVML_SUCCESS : (nvmlReturn_t)code;
}

static nvmlReturn_t copy(const char *text, char *out, unsigned length)
{
    if (!text) return NVML_ERROR_NOT_SUPPORTED;
    if (strlen(text) >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

#define ENTER(device, out) do { nvmlReturn_t code_ = enter(__func__, device, out); if (code_) return code_; } while (0)
#define ENTER_DEVICE(out) do { if (users && !device) return NVML_ERROR_INVALID_ARGUMENT; ENTER(device, out); } while (0)
#define NEED(key) do { if (!text_of(device->prefix, key)) return NVML_ERROR_NOT_SUPPORTED; } while (0)
#define GET(key) number_of(device->prefix, key, 0)

/* ---- the library and the system ---- */

static nvmlReturn_t open_library(void)
{
    int code = act("nvmlInit", -1);
    if (code > NVML_SUCCESS) return (nvmlReturn_t)code;
    users++;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void) { return open_library(); }
nvmlReturn_t nvmlInit_v2(void) { return open_library(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { (void)flags; return open_library(); }

nvmlReturn_t nvmlShutdown(void)
{
    ENTER(NULL, "");
    users--;
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    static const char *const words[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized",
        "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
        "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
        "GPU access blocked by the operating system", "Driver/library version mismatch", "In use by another client",
        "Insufficient Memory", "No data", "vGPU ECC not supported", "Insufficient Resources", "Invalid Frequency",
        "Argument version mismatch", "Requested functionality has been deprecated", "System is not in ready state",
        "No supported GPUs were found", "Resource not in correct state to perform requested operation" };
    return (unsigned)result < sizeof words / sizeof *words ? words[result] : "Unknown Error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    ENTER(NULL, version);
    return copy(text_of("", "driver_version"), version, length);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    /* answers without nvmlInit, as the real one does since branch 535 */
    int code = act(__func__, -1);
    return code != HEALTHY ? (nvmlReturn_t)code : !version ? NVML_ERROR_INVALID_ARGUMENT : copy(text_of("", "nvml_version"), version, length);
}

static nvmlReturn_t cuda_served(const char *function, int *version)
{
    nvmlReturn_t code = enter(function, NULL, version);
    if (!code) *version = (int)number_of("", "cuda_version", 0);
    return code ? code : *version ? NVML_SUCCESS : NVML_ERROR_LIBRARY_NOT_FOUND;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return cuda_served(__func__, version); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return cuda_served(__func__, version); }

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    ENTER(NULL, name);
    struct line *line = find("process.%u", pid);
    return line ? copy(line->value, name, length) : NVML_ERROR_NOT_FOUND;
}

/* ---- which device ---- */

static nvmlReturn_t count_devices(const char *function, unsigned *count)
{
    nvmlReturn_t code = enter(function, NULL, count);
    if (!code) *count = gpu_count;
    return code;
}

static nvmlReturn_t hand_out(const char *function, unsigned gpu, nvmlReturn_t missing, nvmlDevice_t *out)
{
    nvmlReturn_t code = enter(function, gpu < gpu_count ? &devices[gpu][0] : NULL, out);
    if (code) return code;
    if (gpu >= gpu_count) return missing;
    *out = &devices[gpu][0];
    return NVML_SUCCESS;
}

static int same_address(const char *one, const char *other)
{
    unsigned a[3], b[3];
    return one && other && sscanf(one, "%x:%x:%x", a, a + 1, a + 2) == 3 && sscanf(other, "%x:%x:%x", b, b + 1, b + 2) == 3 && !memcmp(a, b, sizeof a);
}

static int same_text(const char *one, const char *other) { return one && other && !strcmp(one, other); }

static nvmlReturn_t look_up(const char *function, const char *key, int (*same)(const char *, const char *), const char *wanted, nvmlDevice_t *out)
{
    unsigned gpu = 0;
    while (gpu < gpu_count && !same(text_of(devices[gpu][0].prefix, key), wanted)) gpu++;
    return hand_out(function, gpu, NVML_ERROR_NOT_FOUND, out);
}

#define VERSIONS(name, parameters, body) nvmlReturn_t name parameters { body } nvmlReturn_t name##_v2 parameters { body }
VERSIONS(nvmlDeviceGetCount, (unsigned int *count), return count_devices(__func__, count);)
VERSIONS(nvmlDeviceGetHandleByIndex, (unsigned int index, nvmlDevice_t *out), return hand_out(__func__, index, NVML_ERROR_INVALID_ARGUMENT, out);)
VERSIONS(nvmlDeviceGetHandleByPciBusId, (const char *address, nvmlDevice_t *out), return look_up(__func__, "address", same_address, address, out);)
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out) { return look_up(__func__, "uuid", same_text, uuid, out); }

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    ENTER_DEVICE(index);
    *index = (unsigned)(device->mig ? device->mig - 1 : device->gpu);
    return NVML_SUCCESS;
}

/* ---- facts of one device, a line a function ---- */

static nvmlReturn_t put_number(const char *function, nvmlDevice_t device, const char *key, void *out, size_t size)
{
    if (users && !device) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t code = enter(function, device, out);
    if (code) return code;
    NEED(key);
    unsigned long long value = GET(key);
    memcpy(out, &value, size); /* x86-64 and aarch64 are little-endian */
    return NVML_SUCCESS;
}

#define NUMBER(name, type, key) nvmlReturn_t name(nvmlDevice_t device, type *out) { return put_number(__func__, device, key, out, sizeof *out); }
#define TEXT(name, key) \
    nvmlReturn_t name(nvmlDevice_t device, char *out, unsigned int length) { ENTER_DEVICE(out); return copy(text_of(device->prefix, key), out, length); }
#define PAIR(name, type, first, second) \
    nvmlReturn_t name(nvmlDevice_t device, type *one, type *two) \
    { \
        nvmlReturn_t code = put_number(__func__, device, first, one, sizeof *one); \
        if (code || !two) return code ? code : NVML_ERROR_INVALID_ARGUMENT; \
        *two = (type)GET(second); \
        return NVML_SUCCESS; \
    }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
NUMBER(nvmlDeviceGetMinorNumber, unsigned int, "minor")
NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, "brand")
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, "architecture")
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, "compute_mode")
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, "persistence")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, "pcie_gen")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, "pcie_width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, "pcie_gen_max")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, "pcie_width_max")
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, "pstate")
NUMBER(nvmlDeviceGetPowerUsage, unsigned int, "power_usage")
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned int, "power_limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, "power_limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, "power_limit_default")
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, "clocks_event_reasons")
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, "clocks_event_reasons")
NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, "clocks_event_reasons_supported")
NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, "clocks_event_reasons_supported")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, "retired_pages_pending")
NUMBER(nvmlDeviceGetInforomConfigurationChecksum, unsigned int, "inforom_checksum")
NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, "virtualization")
NUMBER(nvmlDeviceGetGpuInstanceId, unsigned int, "gpu_instance")
NUMBER(nvmlDeviceGetComputeInstanceId, unsigned int, "compute_instance")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned int, "mig_most")
PAIR(nvmlDeviceGetCudaComputeCapability, int, "cc_major", "cc_minor")
PAIR(nvmlDeviceGetMigMode, unsigned int, "mig_current", "mig_pending")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, unsigned int, "power_limit_min", "power_limit_max")
PAIR(nvmlDeviceGetEccMode, nvmlEnableState_t, "ecc_current", "ecc_pending")

/* ---- facts with arguments or structs ---- */

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter, unsigned long long *out)
{
    static const char *const keys[2][2] = { { "ecc_corrected", "ecc_corrected_total" }, { "ecc_uncorrected", "ecc_uncorrected_total" } };
    if (error > 1 || counter > 1) return NVML_ERROR_INVALID_ARGUMENT;
    return put_number(__func__, device, keys[error][counter], out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending, unsigned int *failed)
{
    nvmlReturn_t code = put_number(__func__, device, "remapped_corrected", corrected, sizeof *corrected);
    if (code) return code;
    *uncorrected = (unsigned)GET("remapped_uncorrected");
    *pending = (unsigned)GET("remapped_pending");
    *failed = (unsigned)GET("remapped_failed");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *out)
{
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    return put_number(__func__, device, "temperature", out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, nvmlTemperatureThresholds_t which, unsigned int *out)
{
    static const char *const keys[] = { "temperature_shutdown", "temperature_slowdown", "temperature_memory_max", "temperature_gpu_max" };
    if (which > NVML_TEMPERATURE_THRESHOLD_GPU_MAX) return NVML_ERROR_NOT_SUPPORTED;
    return put_number(__func__, device, keys[which], out, sizeof *out);
}

#include "nvml_details.h"

static nvmlReturn_t clock_rate(const char *function, nvmlDevice_t device, const char *prefix, nvmlClockType_t type, unsigned int *out)
{
    static const char *const kinds[] = { "graphics", "sm", "memory", "video" };
    char key[32];
    if (type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(key, sizeof key, "%s%s", prefix, kinds[type]);
    return put_number(function, device, key, out, sizeof *out);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *out) { return clock_rate(__func__, device, "clock_", type, out); }
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *out) { return clock_rate(__func__, device, "clock_max_", type, out); }
nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *out) { return clock_rate(__func__, device, "clock_set_", type, out); }
nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t type, unsigned int *out) { return clock_rate(__func__, device, "clock_set_default_", type, out); }

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    ENTER_DEVICE(out);
    NEED("utilization_gpu");
    *out = (nvmlUtilization_t){ (unsigned)GET("utilization_gpu"), (unsigned)GET("utilization_memory") };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    ENTER_DEVICE(out);
    NEED("memory_total");
    *out = (nvmlMemory_t){ GET("memory_total"), GET("memory_total") - GET("memory_reserved") - GET("memory_used"), GET("memory_reserved") + GET("memory_used") };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    ENTER_DEVICE(out);
    if (out->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED("memory_total");
    out->total = GET("memory_total");
    out->reserved = GET("memory_reserved");
    out->used = GET("memory_used");
    out->free = out->total - out->reserved - out->used;
    return NVML_SUCCESS;
}

static nvmlReturn_t pci_info(const char *function, nvmlDevice_t device, nvmlPciInfo_t *out)
{
    if (users && !device) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t code = enter(function, device, out);
    if (code) return code;
    NEED("address");
    memset(out, 0, sizeof *out);
    if (sscanf(text_of(device->prefix, "address"), "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return NVML_ERROR_UNKNOWN;
    out->pciDeviceId = (unsigned)GET("pci_device_id");
    out->pciSubSystemId = (unsigned)GET("pci_subsystem_id");
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.0", out->domain, out->bus, out->device);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *out) { return pci_info(__func__, device, out); }
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *out) { return pci_info(__func__, device, out); }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out) { return pci_info(__func__, device, out); }

/* "PID:BYTES PID:BYTES"; BYTES may be ? where the driver does not know, as under WSL and for other users' processes; PID 0 is the loader */
static nvmlReturn_t processes(const char *function, nvmlDevice_t device, const char *key, unsigned int *count, nvmlProcessInfo_t *out)
{
    if (users && !device) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t code = enter(function, device, count);
    if (code) return code;
    NEED(key);
    unsigned room = *count, pid;
    char bytes[24];
    const char *text = text_of(device->prefix, key);
    *count = 0;
    for (int used; sscanf(text, " %u:%23s%n", &pid, bytes, &used) == 2; text += used, ++*count)
        if (out && *count < room) {
            unsigned long long memory = *bytes == '?' ? (unsigned long long)NVML_VALUE_NOT_AVAILABLE : strtoull(bytes, NULL, 0);
            out[*count] = (nvmlProcessInfo_t){ pid ? pid : (unsigned)loader(), memory, 0xFFFFFFFF, 0xFFFFFFFF };
        }
    return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESSES(name, key) \
    nvmlReturn_t name(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *out) { return processes(__func__, device, key, count, out); }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "compute_processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps_processes")
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "compute_processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics_processes")

#include "nvml_counters.h"
