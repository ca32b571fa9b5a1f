/* A part of nvml.c: board and firmware, BAR1, temperatures and their limits, time held back, spare rows, errors by place, rack. */

TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
TEXT(nvmlDeviceGetBoardPartNumber, "part_number")
NUMBER(nvmlDeviceGetBoardId, unsigned int, "board_id")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, "pcie_gen_own")
NUMBER(nvmlDeviceGetNumaNodeId, unsigned int, "numa_memory")
PAIR(nvmlDeviceGetGspFirmwareMode, unsigned int, "gsp_enabled", "gsp_default")

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t device, nvmlInforomObject_t object, char *version, unsigned int length)
{
    static const char *const keys[] = { "inforom_oem", "inforom_ecc", "inforom_power" };
    ENTER_DEVICE(version);
    if (object > NVML_INFOROM_POWER) return NVML_ERROR_INVALID_ARGUMENT;
    return copy(text_of(device->prefix, keys[object]), version, length);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    ENTER_DEVICE(version);
    return copy(text_of(device->prefix, "gsp_firmware"), version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *out)
{
    ENTER_DEVICE(out);
    NEED("bar1_total");
    *out = (nvmlBAR1Memory_t){ .bar1Total = GET("bar1_total"), .bar1Used = GET("bar1_used"), .bar1Free = GET("bar1_total") - GET("bar1_used") };
    return NVML_SUCCESS;
}

/* "spare_rows=640 0 0 0 0": banks with all, many, some, few and no spare rows left */
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *out)
{
    ENTER_DEVICE(out);
    NEED("spare_rows");
    int read = sscanf(text_of(device->prefix, "spare_rows"), "%u %u %u %u %u", &out->max, &out->high, &out->partial, &out->low, &out->none);
    return read == 5 ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *out)
{
    ENTER_DEVICE(out);
    if (out->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED("temperature_margin");
    out->marginTemperature = (int)strtol(text_of(device->prefix, "temperature_margin"), NULL, 10);
    return NVML_SUCCESS;
}

/* "rack=SLOT TRAY HOST PEER MODULE"; a driver with "rack_form=1" knows the older form of the struct alone */
nvmlReturn_t nvmlDeviceGetPlatformInfo(nvmlDevice_t device, nvmlPlatformInfo_t *out)
{
    ENTER_DEVICE(out);
    unsigned slot, tray, host, peer, module;
    int old = GET("rack_form") == 1;
    if (out->version != (old ? nvmlPlatformInfo_v1 : nvmlPlatformInfo_v2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED("rack");
    if (sscanf(text_of(device->prefix, "rack"), "%u %u %u %u %u", &slot, &tray, &host, &peer, &module) != 5) return NVML_ERROR_UNKNOWN;
    if (old) {
        nvmlPlatformInfo_v1_t *first = (void *)out;
        *first = (nvmlPlatformInfo_v1_t){ .version = nvmlPlatformInfo_v1, .chassisPhysicalSlotNumber = (unsigned char)slot,
            .computeSlotIndex = (unsigned char)tray, .nodeIndex = (unsigned char)host, .peerType = (unsigned char)peer, .moduleId = (unsigned char)module };
        return NVML_SUCCESS;
    }
    *out = (nvmlPlatformInfo_t){ .version = nvmlPlatformInfo_v2, .slotNumber = (unsigned char)slot, .trayIndex = (unsigned char)tray,
        .hostId = (unsigned char)host, .peerType = (unsigned char)peer, .moduleId = (unsigned char)module };
    const char *serial = text_of(device->prefix, "chassis_serial");
    if (serial) memcpy(out->chassisSerialNumber, serial, strnlen(serial, sizeof out->chassisSerialNumber));
    return NVML_SUCCESS;
}

/* errors by place: "ecc.PLACE=CORRECTED UNCORRECTED CORRECTED_IN_ALL UNCORRECTED_IN_ALL" */
static nvmlReturn_t ecc_of(nvmlDevice_t device, const char *place, unsigned which, unsigned long long *out)
{
    char key[24];
    unsigned long long counts[4];
    snprintf(key, sizeof key, "ecc.%s", place);
    NEED(key);
    if (sscanf(text_of(device->prefix, key), "%llu %llu %llu %llu", counts, counts + 1, counts + 2, counts + 3) != 4) return NVML_ERROR_UNKNOWN;
    *out = counts[which];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t error, nvmlEccCounterType_t counter, nvmlMemoryLocation_t place, unsigned long long *out)
{
    static const char *const places[] = { "l1", "l2", "memory", "registers", "texture", "shared", "cbu", "sram" };
    ENTER_DEVICE(out);
    if (error > 1 || counter > 1 || place >= NVML_MEMORY_LOCATION_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
    return ecc_of(device, places[place], counter * 2 + error, out);
}

static nvmlReturn_t read_ecc_field(nvmlDevice_t device, nvmlFieldValue_t *one)
{
    /* a place a run of fields, since the driver was loaded and then in all: corrected and uncorrected in turn, but for the last, which corrects nothing */
    static const char *const places[] = { "l1", "l2", "memory", "registers", "texture" };
    unsigned in_all = one->fieldId >= NVML_FI_DEV_ECC_SBE_AGG_L1;
    unsigned place = one->fieldId - (in_all ? NVML_FI_DEV_ECC_SBE_AGG_L1 : NVML_FI_DEV_ECC_SBE_VOL_L1);
    if (place == 10) return ecc_of(device, "cbu", in_all * 2 + 1, &one->value.ullVal);
    return ecc_of(device, places[place / 2], in_all * 2 + place % 2, &one->value.ullVal);
}

/* "nvlink.LINK.remote=2" is an NVSwitch at its other end, 0 a GPU, and "nvlink.LINK.speed=25781" its megabytes a second; without the number of a link, of all */
static nvmlReturn_t link_fact(nvmlDevice_t device, unsigned link, const char *what, unsigned long long *out)
{
    char own[32], any[32];
    snprintf(own, sizeof own, "nvlink.%u.%s", link, what);
    snprintf(any, sizeof any, "nvlink.%s", what);
    const char *key = text_of(device->prefix, own) ? own : any;
    NEED(key);
    *out = GET(key);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *out)
{
    ENTER_DEVICE(out);
    unsigned long long type = 0;
    nvmlReturn_t code = link_fact(device, link, "remote", &type);
    if (!code) *out = (nvmlIntNvLinkDeviceType_t)type;
    return code;
}

static nvmlReturn_t read_link_speed(nvmlDevice_t device, nvmlFieldValue_t *one)
{
    one->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    one->value.ullVal = 0;
    return link_fact(device, one->scopeId, "speed", &one->value.ullVal);
}

/* the fields that nvml_counters.h does not know; a counter "K+" grows by a tenth of a second a look, a limit may be negative */
static nvmlReturn_t read_detail(nvmlDevice_t device, nvmlFieldValue_t *one)
{
    if (one->fieldId == NVML_FI_DEV_NVLINK_GET_SPEED) return read_link_speed(device, one);
    static const struct { unsigned field; const char *key; nvmlValueType_t type; } keys[] = {
        { NVML_FI_DEV_PERF_POLICY_POWER, "held.power", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_PERF_POLICY_THERMAL, "held.thermal", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_PERF_POLICY_SYNC_BOOST, "held.sync_boost", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT, "held.board_limit", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION, "held.low_utilization", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_PERF_POLICY_RELIABILITY, "held.reliability", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, "held.thermal_by_driver", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, "held.thermal_by_hardware", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN, "held.power_brake", NVML_VALUE_TYPE_UNSIGNED_LONG_LONG },
        { NVML_FI_DEV_MEMORY_TEMP, "temperature_memory", NVML_VALUE_TYPE_UNSIGNED_INT },
        { NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, "tlimit_shutdown", NVML_VALUE_TYPE_SIGNED_INT },
        { NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT, "tlimit_slowdown", NVML_VALUE_TYPE_SIGNED_INT },
        { NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT, "tlimit_memory", NVML_VALUE_TYPE_SIGNED_INT },
        { NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT, "tlimit_gpu", NVML_VALUE_TYPE_SIGNED_INT } };
    if (one->fieldId >= NVML_FI_DEV_ECC_SBE_VOL_L1 && one->fieldId <= NVML_FI_DEV_ECC_DBE_AGG_CBU) return read_ecc_field(device, one);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].field == one->fieldId) {
            struct line *line = fact(device->prefix, keys[i].key);
            if (!line) return NVML_ERROR_NOT_SUPPORTED;
            one->valueType = keys[i].type;
            one->value.sllVal = strtoll(line->value, NULL, 0) + (strchr(line->value, '+') ? 100000000LL * line->met++ : 0);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_SUPPORTED;
}
