"""libcuda.so.1's answers in a process of the target environment: its file, CUDA version, cuInit, devices. Creates no context.

Runs under the target interpreter with -I -S. For Python 3.4 to 3.14, standard library only.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
from gpudoctor_libcuda import load_libcuda, missing_of_code, status_of_code

del sys.path[0]

# CUdevice_attribute of cuda.h
MAJOR, MINOR, INTEGRATED = 75, 76, 18


def problem_of_call(cuda, names, *arguments):
    """None if the first of the functions in the library succeeds, otherwise the missing value."""
    for name in names:
        function = getattr(cuda, name, None)
        if function is not None:
            code = function(*arguments)
            return missing_of_code(cuda, name, code) if code else None
    return answer.missing("unsupported", "the library has no %s" % names[0])


def checked_version(function, major, minor):
    """A version or compute capability, unless it is garbage."""
    if 0 <= major < 1000 and 0 <= minor < 100:
        return "%d.%d" % (major, minor)
    return answer.missing("failed", "%s returned %d.%d, which no driver supports" % (function, major, minor))


def checked_size(value):
    return value if value < 1 << 50 else answer.missing("failed", "cuDeviceTotalMem returned %d bytes, which no GPU has" % value)


def write_device(cuda, ordinal):
    import ctypes

    handle, major, minor, integrated = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name, address = ctypes.create_string_buffer(256), ctypes.create_string_buffer(64)
    uuid, total = (ctypes.c_ubyte * 16)(), ctypes.c_size_t()

    def value_of_call(names, value, *arguments):
        answer.mark(names[0].partition("_")[0], ordinal)
        problem = problem_of_call(cuda, names, *arguments)
        return problem or value()

    def uuid_text():
        digits = "".join("%02x" % byte for byte in uuid)
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    opened = value_of_call(["cuDeviceGet"], lambda: None, ctypes.byref(handle), ordinal)
    if opened:
        fields = ("name", "uuid", "address", "compute_capability", "memory_total", "integrated")
        answer.write(dict(dict.fromkeys(fields, opened), type="cuda-device", ordinal=ordinal))
        return
    for field, names, value, arguments in (
        ("name", ["cuDeviceGetName"], lambda: answer.printable_text(name.value), (name, 256, handle)),
        ("uuid", ["cuDeviceGetUuid_v2", "cuDeviceGetUuid"], uuid_text, (uuid, handle)),
        ("address", ["cuDeviceGetPCIBusId"], lambda: answer.printable_text(address.value), (address, 64, handle)),
        ("memory_total", ["cuDeviceTotalMem_v2"], lambda: checked_size(total.value), (ctypes.byref(total), handle)),
        ("integrated", ["cuDeviceGetAttribute"], lambda: bool(integrated.value), (ctypes.byref(integrated), INTEGRATED, handle)),
    ):
        answer.write({"type": "cuda-device", "ordinal": ordinal, field: value_of_call(names, value, *arguments)})
    capability = value_of_call(["cuDeviceGetAttribute"], lambda: None, ctypes.byref(major), MAJOR, handle)
    capability = capability or value_of_call(["cuDeviceGetAttribute"], lambda: None, ctypes.byref(minor), MINOR, handle)
    answer.write(
        {
            "type": "cuda-device",
            "ordinal": ordinal,
            "compute_capability": capability or checked_version("cuDeviceGetAttribute", major.value, minor.value),
        }
    )


def main():
    if "--unmasked" in sys.argv:  # a wrapper script in place of the interpreter would set it again
        import os

        os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    cuda = load_libcuda()
    if cuda is None:
        return
    import ctypes

    number = ctypes.c_int()
    answer.write({"type": "libcuda", "library": answer.loaded_file(b"libcuda.so")})
    answer.mark("cuDriverGetVersion")
    problem = problem_of_call(cuda, ["cuDriverGetVersion"], ctypes.byref(number))
    answer.write(
        {
            "type": "libcuda",
            "cuda_served": problem or checked_version("cuDriverGetVersion", number.value // 1000, number.value % 1000 // 10),
        }
    )
    answer.mark("cuInit")
    function = getattr(cuda, "cuInit", None)
    if function is None:
        answer.write({"type": "libcuda", "init": answer.missing("unsupported", "the library has no cuInit")})
        return
    code = function(0)
    answer.write({"type": "libcuda", "init": status_of_code(cuda, code)})
    if code:
        answer.write({"type": "libcuda", "devices": missing_of_code(cuda, "cuInit", code)})
        return
    answer.mark("cuDeviceGetCount")
    problem = problem_of_call(cuda, ["cuDeviceGetCount"], ctypes.byref(number)) or answer.problem_with_count(
        "cuDeviceGetCount", number.value
    )
    if problem:
        answer.write({"type": "libcuda", "devices": problem})
        return
    answer.write({"type": "count", "count": number.value})
    for ordinal in range(number.value):
        write_device(cuda, ordinal)


main()
answer.write({"type": "done"})
answer.exit_now()
