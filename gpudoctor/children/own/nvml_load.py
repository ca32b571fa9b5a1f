"""Samples GPUs several times a second through NVML while others use them, until it is killed. Runs under gpudoctor's interpreter with -I -S.

    nvml_load.py --answer-fd N --gpus 0,3 --path ...

`--gpus` are NVML indices. On descriptor N:

        {"type": "pids", "of_host": true | false | missing}   whether process ids here are those of the whole machine
        {"type": "refused", "gpu": 0, "fields": {field: missing}}   what this GPU does not report: sent once and not queried again
        {"type": "alarmed", "gpu": 0, "alarms": [status, ...]}   an error about the GPU itself, such as that it is lost: sent when it is new
        {"type": "sample", "gpu": 0, "cpu": microseconds this script has used so far, field: value, ...}

A failed call costs its field in that sample. Processes are counted, not named: `listed` are all that compute on the GPU, `own` those
descended from the process that started this script, `own_memory` is their memory in bytes.
"""

import functools
import os
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0] + "/../target")
sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
from nvml_counters import Counters
from nvml_library import Nvml, Record, load
from nvml_questions import QUESTIONS

del sys.path[:2]

PERIOD = 0.1
"""Minimum seconds between two samples of a GPU."""
REST = 50
"""Rest after a round of samples, as a multiple of its CPU time: it uses at most a fiftieth of one core."""
ASKED = ("clock_sm", "clock_memory", "power", "power_limit", "temperature", "clocks_event_reasons", "link_generation", "link_width", "utilization",
         "memory_total", "compute_processes")  # fmt: skip
BESIDES = ("memory_total", "memory_free", "memory_reserved")  # included in memory_used
QUESTION = {fields[0]: (fields, calls, convert) for fields, calls, convert in QUESTIONS}
PERMANENT = ("unsupported", "denied", "lost")
HOST_PIDS = 0xEFFFFFFC  # linux/proc_ns.h, PROC_PID_INIT_INO: the number of the first PID namespace


class Family:
    """The processes descended from the one that started this script."""

    def __init__(self):
        self.head, self.known = os.getppid(), {}

    def has(self, pid):
        if pid not in self.known:
            self.known[pid] = self.descends(pid)
        return self.known[pid]

    def descends(self, pid):
        pid = parent(pid)
        while pid > 1 and pid != self.head:
            pid = parent(pid)
        return pid == self.head


def parent(pid):
    """The parent of `pid`; 0 if it cannot be read."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class Gpu:
    def __init__(self, nvml, index, family):
        self.nvml, self.index, self.family = nvml, index, family
        self.record, self.known = Record(), 0
        nvml.record = self.record
        self.handle = nvml.ask((("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), devices=(index,))
        self.counters = Counters(nvml.pynvml, self.handle, self.ask, nvml.failure)
        self.questions = {QUESTION[name][0]: functools.partial(self.ask, *QUESTION[name][1:]) for name in ASKED}
        self.questions["pcie_replays",] = self.replays
        if isinstance(self.handle, dict):
            for fields in list(self.questions):
                self.refuse(fields, self.handle)
            self.warn()

    def ask(self, calls, convert):
        return self.nvml.ask(calls, convert, self.handle, quiet=True)

    def replays(self):
        count = self.counters.replays()
        return count if isinstance(count, dict) else (count,)

    def refuse(self, fields, problem):
        """Record what this GPU never reports."""
        answer.say({"type": "refused", "gpu": self.index, "fields": {name: problem for name in fields if name not in BESIDES}})
        del self.questions[fields]

    def sample(self):
        """The GPU's current values."""
        self.nvml.record = self.record
        found = {}
        for fields, ask in list(self.questions.items()):
            values = ask()
            if not isinstance(values, dict):
                found.update((name, value) for name, value in zip(fields, values) if name not in BESIDES)
            elif values["cause"] in PERMANENT:
                self.refuse(fields, values)
        found.update(self.processes(found.pop("compute_processes", None)))
        self.warn()
        return found

    def warn(self):
        """Report new errors about the GPU itself."""
        if len(self.record.alarms) > self.known:
            self.known = len(self.record.alarms)
            answer.say({"type": "alarmed", "gpu": self.index, "alarms": list(self.record.alarms.values())})

    def processes(self, listed):
        if listed is None:
            return {}
        own = [one["memory"] for one in listed if self.family.has(one["pid"])]
        told = {"listed": len(listed), "own": len(own)}
        known = [memory for memory in own if not isinstance(memory, dict)]
        return dict(told, own_memory=sum(known)) if known else told


def pids_of_host():
    try:
        return os.stat("/proc/self/ns/pid").st_ino == HOST_PIDS
    except OSError as error:
        return answer.missing("failed", "/proc/self/ns/pid: %s" % error)


def watch(gpus):
    """Sample while any GPU answers."""
    while any(gpu.questions for gpu in gpus):
        began, spent = time.monotonic(), time.process_time()
        for gpu in gpus:
            if gpu.questions:
                answer.say(dict(gpu.sample(), type="sample", gpu=gpu.index, cpu=int(1e6 * time.process_time())))
        answer.flush()
        time.sleep(max(PERIOD - (time.monotonic() - began), REST * (time.process_time() - spent), 0.0))


def main():
    pynvml = load()
    if pynvml is None:
        return
    nvml = Nvml(pynvml)
    answer.mark("nvmlInit")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        answer.say(nvml.failure("nvmlInit", error))
        return
    answer.say({"type": "pids", "of_host": pids_of_host()})
    family = Family()
    gpus = [Gpu(nvml, int(index), family) for index in sys.argv[sys.argv.index("--gpus") + 1].split(",")]
    answer.mark("sampling")
    watch(gpus)


main()
answer.leave()
