"""Runs our own small kernel on one CUDA device and checks it: creates a context, allocates memory, computes, and cleans up.

Runs under the target interpreter with -I -S; --device is the CUDA ordinal. For Python 3.4 to 3.14, standard library only.
A mark before each call and its answer after it name the call in case of a hang or crash.
"""

import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
import gpudoctor_kernel as kernel
import gpudoctor_libcuda as libcuda

del sys.path[0]

ELEMENTS, BLOCK = 8192, 128
MEMORY = 16 << 20  # several of the driver's allocation pages; the kernel uses the beginning
UNWRITTEN = 0xA5A5A5A5  # fills memory before the kernel runs, to detect an earlier run's results

# CUdevice_attribute of cuda.h
NUMBERS = (("multiprocessors", 16), ("memory_clock", 36), ("memory_bus_width", 37))
FLAGS = (("integrated", 18), ("ecc_enabled", 32), ("unified_addressing", 41))
COMPUTE_MODE, BUS, SLOT, DOMAIN, MAJOR, MINOR = 20, 33, 34, 50, 75, 76
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}


_monotonic = getattr(time, "monotonic", time.time)  # Python 2.7 has no monotonic clock


class CallFailed(Exception):  # noqa: N818 -- an answer, not an error
    """A call failed; the argument is the missing value."""


class Driver(object):
    """The library; calling this object calls a function by its documented name, and raises Refused if it fails."""

    def __init__(self, cuda, ordinal):
        self.cuda = cuda
        self.ordinal = ordinal

    def __call__(self, name, *arguments, **names):
        answer.mark(name)
        function = getattr(self.cuda, names.get("symbol", name), None)
        if function is None:
            raise CallFailed(answer.missing("unsupported", "the library has no %s" % name))
        began = _monotonic()
        code = function(*arguments)
        took = max(0, int((_monotonic() - began) * 1000))
        answer.write({"type": "cuda-call", "call": name, "status": libcuda.status_of_code(self.cuda, code), "milliseconds": took})
        if code:
            raise CallFailed(libcuda.missing_of_code(self.cuda, name, code))

    def attribute(self, number, device):
        import ctypes

        value = ctypes.c_int()
        answer.mark("cuDeviceGetAttribute")
        code = self.cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return libcuda.missing_of_code(self.cuda, "cuDeviceGetAttribute", code) if code else value.value


def write_facts(**facts):
    answer.write(dict(facts, type="cuda-context"))


def write_attributes(driver, device):
    """The device's attributes; a failing one only costs its own field."""

    def converted_attributes(numbers, convert):
        values = [driver.attribute(number, device) for number in numbers]
        return next((value for value in values if isinstance(value, dict)), None) or convert(*values)

    write_facts(**{field: converted_attributes((number,), int) for field, number in NUMBERS})
    write_facts(**{field: converted_attributes((number,), bool) for field, number in FLAGS})
    write_facts(
        compute_mode=converted_attributes((COMPUTE_MODE,), lambda mode: COMPUTE_MODES.get(mode, "mode %d" % mode)),
        compute_capability=converted_attributes((MAJOR, MINOR), lambda major, minor: "%d.%d" % (major, minor)),
        pci_address=converted_attributes((DOMAIN, BUS, SLOT), lambda domain, bus, slot: "%04x:%02x:%02x.0" % (domain, bus, slot)),
    )


def write_memory(driver, field):
    import ctypes

    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    driver("cuMemGetInfo", ctypes.byref(free), ctypes.byref(total), symbol="cuMemGetInfo_v2")
    write_facts(memory_total=total.value, **{field: free.value})


def write_comparison(results, seed):
    """Compare every element; later failures do not invalidate the result."""
    wrong = [index for index in range(ELEMENTS) if results[index] != kernel.mix(seed + index)]
    first = answer.missing("absent", "every element is right")
    if wrong:
        first = "element %d is 0x%08x instead of 0x%08x" % (wrong[0], results[wrong[0]], kernel.mix(seed + wrong[0]))
    answer.write({"type": "kernel-result", "elements": ELEMENTS, "wrong": len(wrong), "first_wrong": first, "kernel_right": not wrong})


def run_kernel(driver, seed):
    """Run the kernel in the current context."""
    import ctypes

    by = ctypes.byref
    module, function, results = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    driver("cuModuleLoadData", by(module), ctypes.c_char_p(kernel.PTX))
    driver("cuModuleGetFunction", by(function), module, ctypes.c_char_p(kernel.NAME))
    driver("cuMemAlloc", by(results), ctypes.c_size_t(MEMORY), symbol="cuMemAlloc_v2")
    write_facts(memory_allocated=MEMORY)
    write_memory(driver, "memory_free_meanwhile")
    driver("cuMemsetD32", results, ctypes.c_uint(UNWRITTEN), ctypes.c_size_t(MEMORY // 4), symbol="cuMemsetD32_v2")
    values = (results, ctypes.c_uint(ELEMENTS), ctypes.c_uint(seed))
    pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(by(value), ctypes.c_void_p) for value in values])
    driver("cuLaunchKernel", function, ELEMENTS // BLOCK, 1, 1, BLOCK, 1, 1, 0, None, pointers, None)
    driver("cuCtxSynchronize")
    back = (ctypes.c_uint32 * ELEMENTS)()
    driver("cuMemcpyDtoH", back, results, ctypes.c_size_t(ctypes.sizeof(back)), symbol="cuMemcpyDtoH_v2")
    write_comparison(back, seed)
    driver("cuMemFree", results, symbol="cuMemFree_v2")
    driver("cuModuleUnload", module)


def use_context(driver, seed):
    import ctypes

    device, context = ctypes.c_int(), ctypes.c_void_p()
    driver("cuInit", 0)
    driver("cuDeviceGet", ctypes.byref(device), driver.ordinal)
    write_attributes(driver, device)
    driver("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)  # the context that frameworks use
    driver("cuCtxSetCurrent", context)
    write_memory(driver, "memory_free")
    run_kernel(driver, seed)
    write_memory(driver, "memory_free_after")
    release = "cuDevicePrimaryCtxRelease"
    driver(release, device, symbol=release + "_v2" if hasattr(driver.cuda, release + "_v2") else release)


def main():
    cuda = libcuda.load_libcuda()
    if cuda is None:
        return
    driver = Driver(cuda, int(sys.argv[sys.argv.index("--device") + 1]))
    try:
        use_context(driver, int(time.time()) & kernel.MASK)
    except CallFailed as refusal:
        answer.write({"type": "stopped", "refused": refusal.args[0]})


main()
answer.write({"type": "done"})
answer.exit_now()
