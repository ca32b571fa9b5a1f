"""What NVML says of the driver and of each GPU, through NVIDIA's own binding. Runs under gpudoctor's interpreter with -I -S.

Each call costs its own field when it fails, each GPU its own when it is lost. A mark stands before each call, so that a hang has a name.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer

del sys.path[0]

NAME = "libnvidia-ml.so.1"
PLACES = (NAME, "/usr/lib/wsl/lib/" + NAME)  # WSL keeps it where only its own configuration of the loader finds it

# nvml.h, nvmlReturn_t
FUNCTION_NOT_FOUND, VERSION_MISMATCH = 13, 25
CAUSES = {3: "unsupported", 4: "denied", 13: "unsupported", 15: "lost", 25: "unsupported"}
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
UNCORRECTED, VOLATILE, GPU_CORE = 1, 0, 0


def text(value):
    return (answer.readable(value),)


def number(value):
    return (int(value),)


def truth(value):
    return (bool(value),)


def memory(value):
    return value.total, value.free, value.used


def processes(value):
    unknown = answer.missing("unsupported", "the driver does not say how much memory this process uses")
    return (
        [{"type": "gpu-process", "pid": one.pid, "memory": unknown if one.usedGpuMemory is None else one.usedGpuMemory} for one in value],
    )


def remapped(value):
    correctable, uncorrectable, pending, failed = value
    rows = {"correctable": correctable, "uncorrectable": uncorrectable, "pending": bool(pending), "failed": bool(failed)}
    return (dict(rows, type="remapped-rows"),)


MEMORY_2 = 0x2000028  # nvmlMemory_v2, which counts what the driver reserves apart, as nvidia-smi does

# fields, functions of which the first that the driver has is asked (with what beside the GPU), and how to read the answer.
# Processes come first, so that nothing that we start later is counted.
QUESTIONS = (
    (("compute_processes",), (("nvmlDeviceGetComputeRunningProcesses_v3",), ("nvmlDeviceGetComputeRunningProcesses_v2",)), processes),
    (("graphics_processes",), (("nvmlDeviceGetGraphicsRunningProcesses_v3",), ("nvmlDeviceGetGraphicsRunningProcesses_v2",)), processes),
    (("address",), (("nvmlDeviceGetPciInfo_v3",), ("nvmlDeviceGetPciInfo",)), lambda value: text(value.busId)),
    (("uuid",), (("nvmlDeviceGetUUID",),), text),
    (("name",), (("nvmlDeviceGetName",),), text),
    (("minor",), (("nvmlDeviceGetMinorNumber",),), number),
    (("compute_capability",), (("nvmlDeviceGetCudaComputeCapability",),), lambda value: ("%d.%d" % tuple(value),)),
    (("memory_total", "memory_free", "memory_used"), (("nvmlDeviceGetMemoryInfo", MEMORY_2), ("nvmlDeviceGetMemoryInfo",)), memory),
    (("mig_enabled", "mig_pending"), (("nvmlDeviceGetMigMode",),), lambda value: (bool(value[0]), bool(value[1]))),
    (("ecc_enabled",), (("nvmlDeviceGetEccMode",),), lambda value: truth(value[0])),
    (("ecc_uncorrected",), (("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE),), number),
    (("remapped_rows",), (("nvmlDeviceGetRemappedRows",),), remapped),
    (("compute_mode",), (("nvmlDeviceGetComputeMode",),), lambda value: text(COMPUTE_MODES.get(value, "mode %d" % value))),
    (("persistence",), (("nvmlDeviceGetPersistenceMode",),), truth),
    (("link_generation",), (("nvmlDeviceGetCurrPcieLinkGeneration",),), number),
    (("link_generation_max",), (("nvmlDeviceGetMaxPcieLinkGeneration",),), number),
    (("link_width",), (("nvmlDeviceGetCurrPcieLinkWidth",),), number),
    (("link_width_max",), (("nvmlDeviceGetMaxPcieLinkWidth",),), number),
    (
        ("clocks_event_reasons",),
        (("nvmlDeviceGetCurrentClocksEventReasons",), ("nvmlDeviceGetCurrentClocksThrottleReasons",)),  # renamed in 535
        number,
    ),
    (("temperature",), (("nvmlDeviceGetTemperature", GPU_CORE),), number),
    (("power",), (("nvmlDeviceGetPowerUsage",),), number),
    (("power_limit",), (("nvmlDeviceGetEnforcedPowerLimit",),), number),
)


def load():
    """NVIDIA's binding over the loaded library, or None where the answer is already why not."""
    import ctypes
    import os

    problem = None
    for place in PLACES:
        answer.mark("dlopen " + place)
        try:
            ctypes.CDLL(place)
            break
        except OSError as error:
            problem = answer.not_loaded(NAME, str(error)) if problem is None or os.path.exists(place) else problem
    else:
        answer.say(problem)
        return None
    answer.say({"type": "nvml", "library": answer.loaded_file(b"libnvidia-ml.so")})
    answer.mark("import pynvml")
    spare_find_library()
    sys.path.extend(sys.argv[sys.argv.index("--path") + 1 :])
    try:
        import pynvml
    except Exception as error:
        answer.say({"type": "nvml", "init": answer.missing("failed", "nvidia-ml-py cannot be imported: %s" % error)})
        return None
    return pynvml


def spare_find_library():
    """pynvml imports ctypes.util, for Windows, and that takes subprocess with it: a third of this script's time."""
    import types

    module = types.ModuleType("ctypes.util")
    module.find_library = None
    sys.modules["ctypes.util"] = module


def failure(pynvml, function, error):
    """A failed call as a missing value: its number and NVML's words."""
    code = getattr(error, "value", None)
    if isinstance(error, pynvml.NVMLError) and isinstance(code, int):
        return answer.missing(CAUSES.get(code, "failed"), "%s answered %d (%s)" % (function, code, error))
    if isinstance(error, AttributeError):
        return answer.missing("unsupported", "this nvidia-ml-py has no %s" % function)
    return answer.missing("failed", "%s: %s: %s" % (function, type(error).__name__, error))


def ask(pynvml, calls, convert, handle=(), suffix=""):
    """The values of the first call that the driver knows, or the missing value of the last."""
    problem = None
    for function, *arguments in calls:
        answer.mark(function.partition("_v")[0] + suffix)
        try:
            return convert(getattr(pynvml, function)(*handle, *arguments))
        except Exception as error:
            problem = failure(pynvml, function.partition("_v")[0], error)
            if getattr(error, "value", FUNCTION_NOT_FOUND) not in (FUNCTION_NOT_FOUND, VERSION_MISMATCH):
                break
    return problem


def gpu(pynvml, index):
    def tell(fields, values):
        values = [values] * len(fields) if isinstance(values, dict) else values
        answer.say(dict(zip(fields, values), type="nvml-gpu", index=index))

    suffix = " %d" % index
    handle = ask(pynvml, (("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), suffix=suffix)
    if isinstance(handle, dict):
        tell([field for fields, _, _ in QUESTIONS for field in fields], handle)
        return
    for fields, calls, convert in QUESTIONS:
        tell(fields, ask(pynvml, calls, convert, handle, suffix))


def initialise(pynvml):
    """Whether NVML is ready; says its answer either way."""
    names = {value: name for name, value in vars(pynvml).items() if name.startswith("NVML_ERROR_")}
    answer.mark("nvmlInit")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        said = {"type": "status", "code": error.value, "name": names.get(error.value, "nvmlReturn %d" % error.value), "text": str(error)}
        answer.say({"type": "nvml", "init": said, "gpus": failure(pynvml, "nvmlInit", error)})
        return False
    answer.say({"type": "nvml", "init": {"type": "status", "code": 0, "name": "NVML_SUCCESS", "text": "Success"}})
    return True


def head(pynvml, question, calls, convert):
    value = ask(pynvml, calls, convert)
    answer.say({"type": "nvml", question: value if isinstance(value, dict) else value[0]})


def main():
    pynvml = load()
    if pynvml is None:
        return
    ready = initialise(pynvml)
    head(pynvml, "nvml_version", (("nvmlSystemGetNVMLVersion",),), text)
    head(pynvml, "driver_version", (("nvmlSystemGetDriverVersion",),), text)
    cuda = (("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",))
    head(pynvml, "cuda_served", cuda, lambda value: ("%d.%d" % (value // 1000, value % 1000 // 10),))
    if not ready:
        return
    count = ask(pynvml, (("nvmlDeviceGetCount",),), number)
    if isinstance(count, dict):
        answer.say({"type": "nvml", "gpus": count})
        return
    answer.say({"type": "count", "count": count[0]})
    for index in range(count[0]):
        gpu(pynvml, index)


main()
answer.say({"type": "done"})
answer.flush()
