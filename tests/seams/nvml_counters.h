/* The second half of nvml.c: counters, NVLink, fabric, licences, confidential computing, topology, MIG. */

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *out)
{
    ENTER_DEVICE(out);
    if (out->version != nvmlEccSramErrorStatus_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED("sram_uncorrected");
    unsigned version = out->version;
    memset(out, 0, sizeof *out);
    out->version = version;
    out->aggregateUncSecDed = GET("sram_uncorrected");
    out->bThresholdExceeded = (unsigned)GET("sram_threshold");
    return NVML_SUCCESS;
}

/* "nvlinks" has a letter a link: 1 up, 0 down */
static nvmlReturn_t link_of(const char *function, nvmlDevice_t device, unsigned link, const void *out, char *state)
{
    if (users && !device) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t code = enter(function, device, out);
    if (code) return code;
    const char *links = text_of(device->prefix, "nvlinks");
    if (!links) return NVML_ERROR_NOT_SUPPORTED;
    if (link >= strlen(links)) return NVML_ERROR_INVALID_ARGUMENT;
    *state = links[link];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, nvmlEnableState_t *out)
{
    char state = 0;
    nvmlReturn_t code = link_of(__func__, device, link, out, &state);
    if (!code) *out = state == '1' ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return code;
}

/* a counter "K+" grows by one a look */
static unsigned long long counted(struct line *line)
{
    return line ? strtoull(line->value, NULL, 0) + (strchr(line->value, '+') ? (unsigned)line->met++ : 0) : 0;
}

static unsigned long long link_errors(nvmlDevice_t device, const char *counter, unsigned link)
{
    char key[64];
    snprintf(key, sizeof key, "nvlink.%u.%s", link, counter);
    return counted(fact(device->prefix, key));
}

static const char *const LINK_COUNTERS[] = { "replays", "recoveries", "crc_errors" };

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link, nvmlNvLinkErrorCounter_t counter, unsigned long long *out)
{
    char state = 0;
    nvmlReturn_t code = link_of(__func__, device, link, out, &state);
    if (code || counter > NVML_NVLINK_ERROR_DL_CRC_FLIT) return code ? code : NVML_ERROR_INVALID_ARGUMENT;
    *out = link_errors(device, LINK_COUNTERS[counter], link);
    return NVML_SUCCESS;
}

/* the counters of NVLink 5 by field; 0 is one that NVML no longer offers */
static const char *const LINK_5_COUNTERS[] = {
    "malformed_packet_errors", "buffer_overrun_errors", "rcv_errors", "rcv_remote_errors", "rcv_general_errors", "local_link_integrity_errors",
    "xmit_discards", "link_recovery_successful_events", "link_recovery_failed_events", "link_recovery_events", 0, 0, 0, "effective_errors",
    "effective_ber", "symbol_errors", "symbol_ber" };

/* "nvlink_version" is NVML's number of it; 7 is NVLink 5 */
static nvmlReturn_t read_link_field(nvmlDevice_t device, nvmlFieldValue_t *one)
{
    const char *links = text_of(device->prefix, "nvlinks");
    unsigned version = (unsigned)GET("nvlink_version");
    if (!links || text_of(device->prefix, "nvlink_old")) return NVML_ERROR_NOT_SUPPORTED;
    if (one->fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT) {
        one->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        one->value.uiVal = (unsigned)strlen(links);
        return NVML_SUCCESS;
    }
    if (one->scopeId >= strlen(links)) return NVML_ERROR_INVALID_ARGUMENT;
    if (one->fieldId == NVML_FI_DEV_NVLINK_GET_VERSION) {
        one->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        one->value.uiVal = version;
        return version ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    }
    int fifth = one->fieldId >= NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS;
    if (fifth != (version >= NVML_NVLINK_VERSION_5_0)) return NVML_ERROR_NOT_SUPPORTED;
    const char *key = fifth ? LINK_5_COUNTERS[one->fieldId - NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS]
                            : LINK_COUNTERS[one->fieldId - NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY];
    if (!key) return NVML_ERROR_NOT_SUPPORTED;
    one->value.ullVal = link_errors(device, key, one->scopeId);
    return NVML_SUCCESS;
}

static int of_a_link(unsigned field)
{
    return field == NVML_FI_DEV_NVLINK_LINK_COUNT || field == NVML_FI_DEV_NVLINK_GET_VERSION
        || (field >= NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY && field <= NVML_FI_DEV_NVLINK_ERROR_DL_CRC)
        || (field >= NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS && field <= NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER);
}

/* "field_fails=ID:CODE" makes one field fail */
static nvmlReturn_t read_field(nvmlDevice_t device, nvmlFieldValue_t *one)
{
    static const struct { unsigned field; const char *key; } keys[] = {
        { NVML_FI_DEV_ECC_SBE_VOL_TOTAL, "ecc_corrected" }, { NVML_FI_DEV_ECC_DBE_VOL_TOTAL, "ecc_uncorrected" },
        { NVML_FI_DEV_ECC_SBE_AGG_TOTAL, "ecc_corrected_total" }, { NVML_FI_DEV_ECC_DBE_AGG_TOTAL, "ecc_uncorrected_total" },
        { NVML_FI_DEV_RETIRED_SBE, "retired_single" }, { NVML_FI_DEV_RETIRED_DBE, "retired_double" },
        { NVML_FI_DEV_RETIRED_PENDING, "retired_pages_pending" }, { NVML_FI_DEV_PCIE_REPLAY_COUNTER, "pcie_replays" },
        { NVML_FI_DEV_GET_GPU_RECOVERY_ACTION, "recovery_action" } };
    unsigned field, code;
    const char *failing = text_of(device->prefix, "field_fails");
    if (failing && sscanf(failing, "%u:%u", &field, &code) == 2 && field == one->fieldId) return (nvmlReturn_t)code;
    one->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    if (of_a_link(one->fieldId)) return read_link_field(device, one);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].field == one->fieldId) {
            struct line *line = fact(device->prefix, keys[i].key);
            if (!line) return NVML_ERROR_NOT_SUPPORTED;
            one->value.ullVal = counted(line);
            return NVML_SUCCESS;
        }
    return read_detail(device, one);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    ENTER_DEVICE(values);
    for (int i = 0; i < count; i++) values[i].nvmlReturn = read_field(device, &values[i]);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *out)
{
    ENTER_DEVICE(out);
    NEED("fabric_state");
    *out = (nvmlGpuFabricInfo_t){ .status = (nvmlReturn_t)GET("fabric_status"), .cliqueId = (unsigned)GET("fabric_clique"), .state = (nvmlGpuFabricState_t)GET("fabric_state") };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *out)
{
    ENTER_DEVICE(out);
    int third = out->version == nvmlGpuFabricInfo_v3 && !text_of(device->prefix, "fabric_v2");
    if (out->version != nvmlGpuFabricInfo_v2 && !third) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    NEED("fabric_state");
    memset(out->clusterUuid, (int)GET("fabric_cluster"), sizeof out->clusterUuid);
    if (third) out->healthSummary = (unsigned char)GET("fabric_summary"); /* the older form has no such member */
    out->status = (nvmlReturn_t)GET("fabric_status");
    out->cliqueId = (unsigned)GET("fabric_clique");
    out->state = (nvmlGpuFabricState_t)GET("fabric_state");
    out->healthMask = (unsigned)GET("fabric_health");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *out)
{
    ENTER_DEVICE(out);
    memset(out, 0, sizeof *out);
    const char *product = text_of(device->prefix, "licence_product");
    if (!product) return NVML_SUCCESS;
    out->isGridLicenseSupported = 1;
    out->licensableFeaturesCount = 1;
    nvmlGridLicensableFeature_t *feature = &out->gridLicensableFeatures[0];
    feature->featureCode = NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE;
    feature->featureEnabled = (unsigned)number_of(device->prefix, "licence_enabled", 1);
    feature->featureState = (unsigned)GET("licence_state");
    const char *left = text_of(device->prefix, "licence_seconds"); /* until its end, from now */
    if (left) {
        time_t end = time(NULL) + strtoll(left, NULL, 10);
        struct tm moment;
        gmtime_r(&end, &moment);
        feature->licenseExpiry = (nvmlGridLicenseExpiry_t){ .year = (unsigned)moment.tm_year + 1900, .month = (unsigned short)(moment.tm_mon + 1),
            .day = (unsigned short)moment.tm_mday, .hour = (unsigned short)moment.tm_hour, .min = (unsigned short)moment.tm_min,
            .sec = (unsigned short)moment.tm_sec, .status = NVML_GRID_LICENSE_EXPIRY_VALID };
    }
    snprintf(feature->productName, sizeof feature->productName, "%s", product);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *out)
{
    ENTER(NULL, out);
    *out = (nvmlConfComputeSystemState_t){ .ccFeature = (unsigned)number_of("", "confidential", 0) };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned int *out)
{
    ENTER(NULL, out);
    *out = (unsigned)number_of("", "confidential_ready", 0);
    return NVML_SUCCESS;
}

/* one answer for every two cards, unless the first card gives its own */
static nvmlReturn_t put_pair(const char *function, nvmlDevice_t device, nvmlDevice_t other, const char *key, unsigned long long otherwise, unsigned *out)
{
    if (users && (!device || !other || device == other)) return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t code = enter(function, device, out);
    if (!code) *out = (unsigned)number_of(device->prefix, key, number_of("", key, otherwise));
    return code;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuTopologyLevel_t *out)
{
    return put_pair(__func__, device, other, "ancestor", NVML_TOPOLOGY_SYSTEM, (unsigned *)out);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *out)
{
    (void)index;
    return put_pair(__func__, device, other, "p2p", NVML_P2P_STATUS_OK, (unsigned *)out);
}

/* ---- MIG instances ---- */

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *out)
{
    ENTER_DEVICE(out);
    *out = device->mig > 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *out)
{
    ENTER_DEVICE(out);
    if (device->mig || index >= MOST_MIG) return NVML_ERROR_INVALID_ARGUMENT;
    if (!text_of(devices[device->gpu][1 + index].prefix, "uuid")) return NVML_ERROR_NOT_FOUND;
    *out = &devices[device->gpu][1 + index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *out)
{
    ENTER_DEVICE(out);
    if (!device->mig) return NVML_ERROR_INVALID_ARGUMENT;
    *out = &devices[device->gpu][0];
    return NVML_SUCCESS;
}
