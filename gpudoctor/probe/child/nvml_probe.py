"""What NVML says of the driver and of each GPU, through NVIDIA's own binding. Runs under gpudoctor's interpreter with -I -S.

Each call costs its own field when it fails, each GPU its own when it is lost. A mark stands before each call, so that a hang has a name.
"""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
from nvml_counters import SINGLE, Counters
from nvml_questions import ANCESTORS, LICENCES, MIG_QUESTIONS, P2P, QUESTIONS, Into, licences, number, text, truth, word

del sys.path[0]

NAME = "libnvidia-ml.so.1"
PLACES = (NAME, "/usr/lib/wsl/lib/" + NAME)  # WSL keeps it where only its own configuration of the loader finds it

# nvml.h, nvmlReturn_t
INVALID_ARGUMENT, NOT_FOUND, FUNCTION_NOT_FOUND, VERSION_MISMATCH = 2, 6, 13, 25
CAUSES = {3: "unsupported", 4: "denied", 13: "unsupported", 15: "lost", 25: "unsupported"}
ALARMING = (8, 11, 14, 16)  # insufficient power, interrupt trouble, corrupt infoROM, reset required: of the GPU, whatever was asked
VGPU, P2P_READ = "vgpu", 0


class Problem(dict):
    """A missing value, and the code that NVML gave instead, where it gave one."""

    code = None


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


class Nvml:
    """Asks NVML, one call at a time, and keeps what its refusals say of the GPU at hand."""

    def __init__(self, pynvml):
        self.pynvml = pynvml
        self.alarms = {}

    def status(self, code, words):
        names = {value: name for name, value in vars(self.pynvml).items() if name.startswith("NVML_ERROR_")}
        return {"type": "status", "code": code, "name": names.get(code, "nvmlReturn %d" % code), "text": words}

    def failure(self, function, error):
        """A failed call as a missing value: its number and NVML's words."""
        code = getattr(error, "value", None)
        if isinstance(error, self.pynvml.NVMLError) and isinstance(code, int):
            if code in ALARMING:
                self.alarms.setdefault(code, self.status(code, "%s: %s" % (function, error)))
            problem = Problem(answer.missing(CAUSES.get(code, "failed"), "%s answered %d (%s)" % (function, code, error)))
            problem.code = code
            return problem
        if isinstance(error, AttributeError):
            return Problem(answer.missing("unsupported", "this nvidia-ml-py has no %s" % function))
        return Problem(answer.missing("failed", "%s: %s: %s" % (function, type(error).__name__, error)))

    def call(self, function, handle, arguments):
        """The answer; a struct that stands for one of the binding's is made, filled and returned."""
        if not arguments or not isinstance(arguments[0], Into):
            return getattr(self.pynvml, function)(*handle, *arguments)
        struct = getattr(self.pynvml, arguments[0].name)()
        getattr(self.pynvml, function)(*handle, self.pynvml.byref(struct))
        return struct

    def ask(self, calls, convert, handle=(), suffix="", *, quiet=False):
        """The values of the first call that the driver knows, or the missing value of the last; `quiet` calls set no mark of their own."""
        problem = None
        for function, *arguments in calls:
            if not quiet:
                answer.mark(function.partition("_v")[0] + suffix)
            try:
                return convert(self.call(function, handle, arguments))
            except Exception as error:
                problem = self.failure(function.partition("_v")[0], error)
                if getattr(error, "value", FUNCTION_NOT_FOUND) not in (FUNCTION_NOT_FOUND, VERSION_MISMATCH):
                    break
        return problem


def filled(fields, values):
    """The values by field; a missing value is that of each."""
    return dict(zip(fields, [values] * len(fields) if isinstance(values, dict) else values))


class Gpu:
    """One GPU, by its index."""

    def __init__(self, nvml, index):
        self.nvml, self.index, self.suffix = nvml, index, " %d" % index
        nvml.alarms = {}
        handle = nvml.ask((("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), suffix=self.suffix)
        self.open = not isinstance(handle, dict)
        self.handle = handle
        self.counters = Counters(nvml.pynvml, handle, self.ask, nvml.failure)

    def ask(self, calls, convert, *, quiet=False):
        return self.nvml.ask(calls, convert, self.handle, self.suffix, quiet=quiet)

    def tell(self, told):
        answer.say(dict(told, type="nvml-gpu", index=self.index))

    def describe(self):
        if not self.open:
            asked = [field for fields, _, _ in QUESTIONS for field in fields] + FURTHER
            self.tell(dict.fromkeys(asked, self.handle))
        else:
            known = {}
            for fields, calls, convert in QUESTIONS:
                told = filled(fields, self.ask(calls, convert))
                known.update(told)
                self.tell(told)
            self.tell(self.counters.all())
            self.tell(self.further(known))
        self.tell({"alarms": list(self.nvml.alarms.values())})

    def further(self, known):
        """What only some GPUs have."""
        told = {"licences": [], "mig_instances": []}
        if known["virtualization"] == VGPU:
            told.update(filled(("licences",), self.ask(LICENCES, licences)))
        if known["mig_enabled"] is True:
            told["mig_instances"] = self.instances()
        if known["compute_processes"] and isinstance(known["compute_processes"], list):
            told["compute_processes"] = [dict(one, name=self.process_name(one["pid"])) for one in known["compute_processes"]]
        return told

    def process_name(self, pid):
        """The program's name without its folder, which may be somebody's home, and without its arguments."""
        name = self.nvml.ask((("nvmlSystemGetProcessName", pid),), text, quiet=True)
        return name if isinstance(name, dict) else name[0].partition(" ")[0].rpartition("/")[2]

    def instances(self):
        most = self.ask((("nvmlDeviceGetMaxMigDeviceCount",),), number)
        if isinstance(most, dict):
            return most
        found = []
        for place in range(most[0]):
            handle = self.ask((("nvmlDeviceGetMigDeviceHandleByIndex", place),), lambda value: (value,))
            if not isinstance(handle, dict):
                told = {"type": "mig-instance", "place": place}
                for fields, calls, convert in MIG_QUESTIONS:
                    told.update(filled(fields, self.nvml.ask(calls, convert, handle, self.suffix)))
                found.append(told)
            elif handle.code not in (INVALID_ARGUMENT, NOT_FOUND):
                return handle
        return found


FURTHER = [*SINGLE, "retired_pages", "nvlinks", "licences", "mig_instances", "pcie_replays_later"]


def pairs(nvml, gpus):
    """How the PCI bus joins each two GPUs, and whether one may read the other's memory."""
    found = []
    for place, one in enumerate(gpus):
        for other in gpus[place + 1 :]:
            both = (one.handle[0], other.handle[0])
            names = " %d %d" % (one.index, other.index)
            (ancestor,) = first(nvml.ask((("nvmlDeviceGetTopologyCommonAncestor",),), word(ANCESTORS), both, names))
            (p2p,) = first(nvml.ask((("nvmlDeviceGetP2PStatus", P2P_READ),), word(P2P), both, names))
            found.append({"type": "gpu-pair", "one": one.index, "other": other.index, "ancestor": ancestor, "p2p": p2p})
    return found


def first(value):
    return (value,) if isinstance(value, dict) else value


def initialise(nvml):
    """Whether NVML is ready; says its answer either way."""
    answer.mark("nvmlInit")
    try:
        nvml.pynvml.nvmlInit()
    except nvml.pynvml.NVMLError as error:
        said = nvml.status(error.value, str(error))
        answer.say({"type": "nvml", "init": said, "gpus": nvml.failure("nvmlInit", error)})
        return False
    answer.say({"type": "nvml", "init": {"type": "status", "code": 0, "name": "NVML_SUCCESS", "text": "Success"}})
    return True


def head(nvml, question, calls, convert):
    answer.say({"type": "nvml", question: first(nvml.ask(calls, convert))[0]})


def main():
    pynvml = load()
    if pynvml is None:
        return
    nvml = Nvml(pynvml)
    ready = initialise(nvml)
    head(nvml, "nvml_version", (("nvmlSystemGetNVMLVersion",),), text)
    head(nvml, "driver_version", (("nvmlSystemGetDriverVersion",),), text)
    cuda = (("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",))
    head(nvml, "cuda_served", cuda, lambda value: ("%d.%d" % (value // 1000, value % 1000 // 10),))
    if not ready:
        return
    head(nvml, "confidential", (("nvmlSystemGetConfComputeState",),), lambda value: truth(value.ccFeature))
    head(nvml, "confidential_ready", (("nvmlSystemGetConfComputeGpusReadyState",),), truth)
    count = nvml.ask((("nvmlDeviceGetCount",),), number)
    if isinstance(count, dict):
        answer.say({"type": "nvml", "gpus": count})
        return
    answer.say({"type": "count", "count": count[0]})
    gpus = []
    for index in range(count[0]):
        gpu = Gpu(nvml, index)
        gpu.describe()
        if gpu.open:
            gpus.append(gpu)
    answer.say({"type": "nvml", "pairs": pairs(nvml, gpus)})
    for gpu in gpus:
        gpu.tell({"pcie_replays_later": gpu.counters.replays()})


main()
answer.say({"type": "done"})
answer.leave()
