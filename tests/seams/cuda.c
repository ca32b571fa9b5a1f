/* A libcuda.so.1 that plays the scenario named by FAKE_CUDA: it counts and describes GPUs as the driver does, and refuses to make contexts.
 *
 * The signatures are those of cuda.h, which no small package carries; the types are written out here. */
#include "scenario.h" /* first: it asks for the GNU extensions */
#include <ctype.h>
#include <dlfcn.h>

typedef int CUresult, CUdevice;
typedef struct { unsigned char bytes[16]; } CUuuid;
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { MOST_GPUS = 64, MOST_ATTRIBUTES = 200 };

struct gpu { char prefix[16]; };
static struct gpu gpus[MOST_GPUS], *visible[MOST_GPUS];
static int gpu_count, visible_count, initialised;

static int by_address(const void *one, const void *other)
{
    const char *a = text_of(((const struct gpu *)one)->prefix, "address"), *b = text_of(((const struct gpu *)other)->prefix, "address");
    return a && b ? strcasecmp(a, b) : 0;
}

__attribute__((constructor)) static void start(void)
{
    load_scenario("FAKE_CUDA");
    gpu_count = (int)number_of("", "gpus", 0);
    for (int i = 0; i < gpu_count; i++) snprintf(gpus[i].prefix, sizeof gpus[i].prefix, "gpu.%d.", i);
    const char *order = getenv("CUDA_DEVICE_ORDER");
    if (order && !strcmp(order, "PCI_BUS_ID")) qsort(gpus, (size_t)gpu_count, sizeof *gpus, by_address);
}

static CUresult played(const char *function)
{
    int code = act(function, -1);
    return code == HEALTHY ? SUCCESS : code;
}

/* the GPU that one word of CUDA_VISIBLE_DEVICES means, or NULL: a number as strtol reads it, or a UUID's beginning that only one GPU has */
static struct gpu *meant(const char *word)
{
    struct gpu *match = NULL;
    char *end;
    long index = strtol(word, &end, 10);
    if (end != word) return index >= 0 && index < gpu_count ? &gpus[index] : NULL;
    while (isspace((unsigned char)*word)) word++;
    if (strncmp(word, "GPU-", 4)) return NULL;
    for (int i = 0; i < gpu_count; i++) {
        const char *uuid = text_of(gpus[i].prefix, "uuid");
        if (!uuid || strncasecmp(uuid, word, strlen(word))) continue;
        if (match) return NULL;
        match = &gpus[i];
    }
    return match;
}

/* the first word that means no GPU ends the list (CUDA C++ Programming Guide, "CUDA Environment Variables"); a GPU named twice voids it,
 * which torch.cuda's own parser of this variable does likewise */
static CUresult choose_visible(void)
{
    char words[1024], *rest = words, *word;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    if (!list)
        for (; visible_count < gpu_count; visible_count++) visible[visible_count] = &gpus[visible_count];
    else {
        snprintf(words, sizeof words, "%s", list);
        while ((word = strsep(&rest, ","))) {
            struct gpu *gpu = meant(word);
            if (!gpu) break;
            for (int i = 0; i < visible_count; i++)
                if (visible[i] == gpu) return INVALID_DEVICE;
            visible[visible_count++] = gpu;
        }
    }
    return visible_count ? SUCCESS : NO_DEVICE;
}

CUresult cuInit(unsigned int flags)
{
    CUresult code = flags ? INVALID_VALUE : played(__func__);
    if (!code) code = choose_visible();
    initialised = !code;
    return code;
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult code = played(__func__);
    if (!code) *version = (int)number_of("", "cuda_version", 0);
    return code;
}

static CUresult enter(const char *function, CUdevice device)
{
    if (!initialised) return NOT_INITIALIZED;
    if (device < 0 || device >= visible_count) return INVALID_DEVICE;
    int code = act(function, (int)strtol(visible[device]->prefix + 4, NULL, 10));
    return code == HEALTHY ? SUCCESS : code;
}

#define ENTER(device) do { CUresult code_ = enter(__func__, device); if (code_) return code_; } while (0)

CUresult cuDeviceGetCount(int *count)
{
    if (!initialised) return NOT_INITIALIZED;
    *count = visible_count;
    return played(__func__);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER(ordinal);
    *device = ordinal;
    return SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    ENTER(device);
    snprintf(name, (size_t)length, "%s", text_of(visible[device]->prefix, "name"));
    return SUCCESS;
}

static CUresult uuid(const char *function, CUuuid *out, CUdevice device)
{
    CUresult code = enter(function, device);
    if (code) return code;
    int filled = 0;
    for (const char *text = text_of(visible[device]->prefix, "uuid") + 4; *text && filled < 16; text += text[0] == '-' ? 1 : 2)
        if (*text != '-') sscanf(text, "%2hhx", &out->bytes[filled++]);
    return SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device) { return uuid(__func__, out, device); }
CUresult cuDeviceGetUuid_v2(CUuuid *out, CUdevice device) { return uuid(__func__, out, device); }

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER(device);
    *bytes = number_of(visible[device]->prefix, "memory_total", 0);
    return SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *address, int length, CUdevice device)
{
    unsigned domain, bus, slot;
    ENTER(device);
    if (sscanf(text_of(visible[device]->prefix, "address"), "%x:%x:%x", &domain, &bus, &slot) != 3 || length < 13) return INVALID_VALUE;
    snprintf(address, (size_t)length, "%04X:%02X:%02X.0", domain, bus, slot);
    return SUCCESS;
}

/* an attribute that the scenario does not give is 0, as most flags are on most cards */
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    char key[24];
    ENTER(device);
    if (attribute < 1 || attribute >= MOST_ATTRIBUTES) return INVALID_VALUE;
    snprintf(key, sizeof key, "attribute.%d", attribute);
    *value = (int)number_of(visible[device]->prefix, key, 0);
    return SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult code = cuDeviceGetAttribute(major, 75, device);
    return code ? code : cuDeviceGetAttribute(minor, 76, device);
}

/* ---- errors by name ---- */

static const struct { CUresult code; const char *name, *words; } errors[] = {
    { 0, "CUDA_SUCCESS", "no error" },
    { 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { 2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { 3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error" },
    { 4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
    { 34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library" },
    { 46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable" },
    { 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
    { 101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal" },
    { 200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
    { 201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
    { 214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered" },
    { 218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed" },
    { 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found" },
    { 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain." },
    { 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled" },
    { 300, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid" },
    { 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed" },
    { 304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS" },
    { 500, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
    { 719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure" },
    { 800, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted" },
    { 801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported" },
    { 802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized" },
    { 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination" },
    { 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW" },
    { 805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "MPS client failed to connect to the MPS control daemon or the MPS server" },
    { 807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "MPS server is not ready to accept new MPS client requests" },
    { 999, "CUDA_ERROR_UNKNOWN", "unknown error" },
};

static CUresult describe(CUresult error, const char **out, int as_words)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error) {
            *out = as_words ? errors[i].words : errors[i].name;
            return SUCCESS;
        }
    *out = NULL;
    return INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **out) { return describe(error, out, 0); }
CUresult cuGetErrorString(CUresult error, const char **out) { return describe(error, out, 1); }

/* ---- what needs more than a description of the GPU ---- */

static CUresult refuse(const char *function)
{
    CUresult code = initialised ? played(function) : NOT_INITIALIZED;
    return code ? code : NOT_SUPPORTED;
}

CUresult cuCtxCreate_v2(void **context, unsigned int flags, CUdevice device) { (void)context, (void)flags, (void)device; return refuse(__func__); }
CUresult cuDevicePrimaryCtxRetain(void **context, CUdevice device) { (void)context, (void)device; return refuse(__func__); }
CUresult cuModuleLoadData(void **module, const void *image) { (void)module, (void)image; return refuse(__func__); }
CUresult cuCtxGetCurrent(void **context) { *context = NULL; return initialised ? played(__func__) : NOT_INITIALIZED; }
CUresult cuCtxGetDevice(CUdevice *device) { (void)device; return initialised ? INVALID_CONTEXT : NOT_INITIALIZED; }

/* cudart fetches undocumented tables here and calls into them unchecked: only an error is safe */
CUresult cuGetExportTable(const void **table, const CUuuid *id) { (void)id; *table = NULL; return refuse(__func__); }

static CUresult address_of(const char *symbol, void **function, int version)
{
    char versioned[96];
    Dl_info self;
    void *library = dladdr((void *)address_of, &self) ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    (void)version;
    snprintf(versioned, sizeof versioned, "%s_v2", symbol);
    *function = library ? dlsym(library, versioned) : NULL;
    if (!*function && library) *function = dlsym(library, symbol);
    return *function ? SUCCESS : NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, unsigned long long flags) { (void)flags; return address_of(symbol, function, version); }

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, unsigned long long flags, int *status)
{
    CUresult code = address_of(symbol, function, version);
    (void)flags;
    if (status) *status = code ? 1 : 0; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
    return code == NOT_FOUND && status ? SUCCESS : code;
}
