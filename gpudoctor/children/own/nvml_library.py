"""NVML through NVIDIA's own binding, one guarded call at a time, for the scripts of this folder. Runs under gpudoctor's interpreter with -I -S."""

import sys

import gpudoctor_answer as answer
from nvml_questions import StructArgument

NAME = "libnvidia-ml.so.1"
PLACES = (NAME, "/usr/lib/wsl/lib/" + NAME)  # WSL keeps it where only its own loader configuration finds it

# nvml.h, nvmlReturn_t
FUNCTION_NOT_FOUND, VERSION_MISMATCH = 13, 25
CAUSES = {3: "unsupported", 4: "denied", 13: "unsupported", 15: "lost", 25: "unsupported"}
# about the GPU, whatever the call: insufficient power, interrupt trouble, corrupt infoROM, GPU is lost, reset required
ALARMING = (8, 11, 14, 15, 16)
NOT_OFFERED = (2, 3, 6, 13, 25)  # invalid argument, not supported, not found, function not found, version mismatch


class MissingAnswer(dict):
    """A missing value, with NVML's error code if there was one."""

    code = None


class CallRecord:
    """The result of one GPU's calls: how many there were, and the failed ones by code."""

    def __init__(self):
        self.asked, self.failed, self.alarms = 0, {}, {}

    def summary(self):
        """The alarms, and the commonest error other than "not offered"."""
        code, times = max(self.failed.items(), key=lambda item: item[1], default=(0, 0))
        refusals = {"type": "refusals", "asked": self.asked, "code": code, "times": times}
        return {"alarms": list(self.alarms.values()), "refusals": refusals}


def load_binding():
    """NVIDIA's binding over the loaded library; None if the answer already says why not."""
    import ctypes
    import os

    problem = None
    for place in PLACES:
        answer.mark("dlopen " + place)
        try:
            ctypes.CDLL(place)
            break
        except OSError as error:
            problem = answer.load_failure(NAME, str(error)) if problem is None or os.path.exists(place) else problem
    else:
        answer.write(problem)
        return None
    answer.write({"type": "nvml", "library": answer.loaded_file(b"libnvidia-ml.so")})
    answer.mark("import pynvml")
    skip_slow_imports()
    sys.path.extend(sys.argv[sys.argv.index("--path") + 1 :])
    try:
        import pynvml
    except Exception as error:
        answer.write({"type": "nvml", "init": answer.missing("failed", "nvidia-ml-py cannot be imported: %s" % error)})
        return None
    return pynvml


def skip_slow_imports():
    """Replace what pynvml imports for one function: ctypes.util, for Windows alone, imports subprocess, and string imports re. Half of this script's start."""
    put_stand_in("ctypes.util", find_library=None)
    put_stand_in("string", capwords=lambda text, between: between.join([word.capitalize() for word in text.split(between)]))


def put_stand_in(name, **functions):
    """Put a module with these functions in place of one of the standard library, which is loaded when anything else of it is asked for."""
    import types

    module = types.ModuleType(name)

    def attribute_of_original(asked):
        if asked.startswith("__"):  # the import system looks for __path__
            raise AttributeError(asked)
        del sys.modules[name]
        __import__(name)
        return getattr(sys.modules[name], asked)

    vars(module).update(functions, __getattr__=attribute_of_original)
    sys.modules[name] = module


class NvmlCalls:
    """Calls NVML one call at a time, and keeps in `record` what its errors say about the current GPU."""

    def __init__(self, pynvml):
        self.pynvml = pynvml
        self.record = CallRecord()

    def status_of_code(self, code, words):
        names = {value: name for name, value in vars(self.pynvml).items() if name.startswith("NVML_ERROR_")}
        return {"type": "status", "code": code, "name": names.get(code, "nvmlReturn %d" % code), "text": words}

    def missing_of_error(self, function, error):
        """A failed call as a missing value: NVML's error code and message."""
        code = getattr(error, "value", None)
        if isinstance(error, self.pynvml.NVMLError) and isinstance(code, int):
            if code in ALARMING:
                self.record.alarms.setdefault(code, self.status_of_code(code, "%s: %s" % (function, error)))
            problem = MissingAnswer(answer.missing(CAUSES.get(code, "failed"), "%s answered %d (%s)" % (function, code, error)))
            problem.code = code
            return problem
        if isinstance(error, AttributeError):
            return MissingAnswer(answer.missing("unsupported", "this nvidia-ml-py has no %s" % function))
        if isinstance(error, ValueError):  # of our conversions
            return MissingAnswer(answer.missing("failed", "%s: %s" % (function, error)))
        return MissingAnswer(answer.missing("failed", "%s: %s: %s" % (function, type(error).__name__, error)))

    def call(self, function, handle, arguments):
        """The answer; a struct of the binding is created, filled and returned."""
        if not arguments or not isinstance(arguments[0], StructArgument):
            return getattr(self.pynvml, function)(*handle, *arguments)
        struct = getattr(self.pynvml, arguments[0].name)()
        getattr(self.pynvml, function)(*handle, self.pynvml.byref(struct))
        return struct

    def ask(self, calls, convert, handle=(), devices=(), *, quiet=False):
        """The values of the first call that the driver knows, or the missing value of the last; `devices` are the numbers of the GPUs that are asked; `quiet` calls set no mark."""
        problem = None
        self.record.asked += 1
        for function, *arguments in calls:
            if not quiet:
                answer.mark(function.partition("_v")[0], *devices)
            try:
                return convert(self.call(function, handle, arguments))
            except Exception as error:
                problem = self.missing_of_error(function.partition("_v")[0], error)
                if getattr(error, "value", FUNCTION_NOT_FOUND) not in (FUNCTION_NOT_FOUND, VERSION_MISMATCH):
                    break
        if problem is not None and problem.code is not None and problem.code not in NOT_OFFERED:
            self.record.failed[problem.code] = self.record.failed.get(problem.code, 0) + 1
        return problem
