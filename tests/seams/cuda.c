/* A libcuda.so.1 that plays the scenario named by FAKE_CUDA: it counts and describes GPUs as the driver does, makes contexts and
 * gives memory, and computes what one kernel of gpudoctor's own would; any other module is refused.
 *
 * The signatures are those of cuda.h, which no small package carries; the types are written out here. */
#include "scenario.h" /* first: it asks for the GNU extensions */
#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef struct { unsigned char bytes[16]; } CUuuid;
enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };
enum { MOST_GPUS = 72, MOST_ATTRIBUTES = 200 };

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
    { 806, "CUDA_ERROR_MPS_RPC_FAILURE", "MPS client and server lost their connection" },
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

enum { CONTEXT_MEMORY = 400 << 20, MOST_BLOCKS = 64 };
static struct context { CUdevice device; int uses; struct { void *place; size_t bytes; } blocks[MOST_BLOCKS]; } contexts[MOST_GPUS], *current;

static CUresult retain(const char *function, struct context **context, CUdevice device)
{
    CUresult code = enter(function, device);
    if (code) return code;
    contexts[device].device = device;
    contexts[device].uses++;
    *context = &contexts[device];
    return SUCCESS;
}

static CUresult inside(const char *function)
{
    if (!initialised) return NOT_INITIALIZED;
    return current ? enter(function, current->device) : INVALID_CONTEXT;
}

#define INSIDE do { CUresult code_ = inside(__func__); if (code_) return code_; } while (0)

CUresult cuDevicePrimaryCtxRetain(struct context **context, CUdevice device) { return retain(__func__, context, device); }
CUresult cuCtxSetCurrent(struct context *context)
{
    if (!initialised) return NOT_INITIALIZED;
    CUresult code = enter(__func__, context ? context->device : 0);
    if (!code) current = context;
    return code;
}
CUresult cuCtxCreate_v2(struct context **context, unsigned int flags, CUdevice device)
{
    CUresult code = retain(__func__, context, device);
    (void)flags;
    if (!code) current = *context;
    return code;
}

static CUresult release(const char *function, CUdevice device)
{
    CUresult code = enter(function, device);
    if (code) return code;
    if (!contexts[device].uses) return INVALID_CONTEXT;
    if (!--contexts[device].uses && current == &contexts[device]) current = NULL;
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return release(__func__, device); }
CUresult cuCtxDestroy_v2(struct context *context) { return context ? release(__func__, context->device) : INVALID_CONTEXT; }
CUresult cuCtxSynchronize(void) { INSIDE; return SUCCESS; }

static size_t free_memory(void)
{
    const char *prefix = visible[current->device]->prefix;
    size_t total = number_of(prefix, "memory_total", 0);
    size_t used = number_of(prefix, "memory_used", 0) + number_of(prefix, "memory_reserved", 0) + CONTEXT_MEMORY;
    for (int i = 0; i < MOST_BLOCKS; i++) used += current->blocks[i].bytes;
    return used < total ? total - used : 0;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    INSIDE;
    *free_bytes = free_memory();
    *total = number_of(visible[current->device]->prefix, "memory_total", 0);
    return SUCCESS;
}

CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    INSIDE;
    if (bytes > free_memory()) return OUT_OF_MEMORY;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (!current->blocks[i].place) {
            current->blocks[i].place = malloc(bytes);
            current->blocks[i].bytes = bytes;
            *address = (uint64_t)(uintptr_t)current->blocks[i].place;
            return SUCCESS;
        }
    return OUT_OF_MEMORY;
}

/* how many bytes lie from an address to the end of its allocation */
static size_t room(uint64_t address)
{
    for (int i = 0; i < MOST_BLOCKS; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)current->blocks[i].place;
        if (begin && address >= begin && address < begin + current->blocks[i].bytes) return begin + current->blocks[i].bytes - address;
    }
    return 0;
}

CUresult cuMemFree_v2(uint64_t address)
{
    INSIDE;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (address && (uint64_t)(uintptr_t)current->blocks[i].place == address) {
            free(current->blocks[i].place);
            current->blocks[i].place = NULL;
            current->blocks[i].bytes = 0;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

CUresult cuMemsetD32_v2(uint64_t address, unsigned int value, size_t count)
{
    INSIDE;
    if (room(address) < count * 4) return INVALID_VALUE;
    for (size_t i = 0; i < count; i++) ((uint32_t *)(uintptr_t)address)[i] = value;
    return SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *out, uint64_t address, size_t bytes)
{
    INSIDE;
    if (room(address) < bytes) return INVALID_VALUE;
    memcpy(out, (void *)(uintptr_t)address, bytes);
    return SUCCESS;
}

/* gpudoctor_mix of gpudoctor/children/target/gpudoctor_kernel.py, and no other kernel */
#define KERNEL "gpudoctor_mix"

CUresult cuModuleLoadData(const char **module, const void *image)
{
    INSIDE;
    if (!strstr(image, ".entry " KERNEL "(")) return NOT_SUPPORTED;
    *module = KERNEL;
    return SUCCESS;
}

CUresult cuModuleUnload(const char *module) { INSIDE; return module ? SUCCESS : INVALID_VALUE; }

CUresult cuModuleGetFunction(const char **function, const char *module, const char *name)
{
    INSIDE;
    if (!module || strcmp(module, name)) return NOT_FOUND;
    *function = module;
    return SUCCESS;
}

/* "wrong_element" of a GPU's scenario is the element in which one bit of its result is wrong */
CUresult cuLaunchKernel(const char *function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
                        unsigned int shared, void *stream, void **parameters, void **extra)
{
    INSIDE;
    (void)shared, (void)stream;
    if (!function || extra || gy != 1 || gz != 1 || by != 1 || bz != 1) return INVALID_VALUE;
    uint32_t *results = (uint32_t *)(uintptr_t)*(uint64_t *)parameters[0], count = *(uint32_t *)parameters[1], seed = *(uint32_t *)parameters[2];
    if (room((uint64_t)(uintptr_t)results) < (size_t)count * 4) return ILLEGAL_ADDRESS;
    uint32_t wrong = (uint32_t)number_of(visible[current->device]->prefix, "wrong_element", UINT32_MAX);
    for (uint32_t i = 0; i < gx * bx && i < count; i++) {
        uint32_t value = seed + i;
        for (uint32_t left = 4; left; left--) value = (value ^ value >> 15) * 0x9E3779B1u + left;
        results[i] = value ^ (i == wrong ? 1u << 7 : 0);
    }
    return SUCCESS;
}

CUresult cuCtxGetCurrent(struct context **context) { *context = current; return initialised ? played(__func__) : NOT_INITIALIZED; }
CUresult cuCtxGetDevice(CUdevice *device)
{
    INSIDE;
    *device = current->device;
    return SUCCESS;
}

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
