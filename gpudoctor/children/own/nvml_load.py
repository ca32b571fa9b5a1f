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
from nvml_counters import CounterReader
from nvml_library import CallRecord, NvmlCalls, load_binding
from nvml_questions import QUESTIONS

del sys.path[:2]

PERIOD_SECONDS = 0.1
"""Minimum seconds between two samples of a GPU."""
REST_FACTOR = 50
"""Rest after a round of samples, as a multiple of its CPU time: it uses at most a fiftieth of one core."""
SAMPLED_FIELDS = ("clock_sm", "clock_memory", "power", "power_limit", "temperature", "clocks_event_reasons", "link_generation", "link_width", "utilization",
         "memory_total", "compute_processes")  # fmt: skip
FIELDS_IN_MEMORY_USED = ("memory_total", "memory_free", "memory_reserved")  # included in memory_used
QUESTION = {fields[0]: (fields, calls, convert) for fields, calls, convert in QUESTIONS}
PERMANENT_CAUSES = ("unsupported", "denied", "lost")
HOST_PIDS = 0xEFFFFFFC  # linux/proc_ns.h, PROC_PID_INIT_INO: the number of the first PID namespace


class StarterProcesses:
    """The processes descended from the one that started this script."""

    def __init__(self):
        self.starter, self.known = os.getppid(), {}

    def includes(self, pid):
        if pid not in self.known:
            self.known[pid] = self.is_descendant(pid)
        return self.known[pid]

    def is_descendant(self, pid):
        pid = parent_pid(pid)
        while pid > 1 and pid != self.starter:
            pid = parent_pid(pid)
        return pid == self.starter


def parent_pid(pid):
    """The parent of `pid`; 0 if it cannot be read."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class SampledGpu:
    def __init__(self, nvml, index, family):
        self.nvml, self.index, self.family = nvml, index, family
        self.record, self.known = CallRecord(), 0
        nvml.record = self.record
        self.handle = nvml.ask((("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), devices=(index,))
        self.counters = CounterReader(nvml.pynvml, self.handle, self.ask, nvml.missing_of_error)
        self.questions = {QUESTION[name][0]: functools.partial(self.ask, *QUESTION[name][1:]) for name in SAMPLED_FIELDS}
        self.questions["pcie_replays",] = self.pcie_replays
        if isinstance(self.handle, dict):
            for fields in list(self.questions):
                self.give_up(fields, self.handle)
            self.write_new_alarms()

    def ask(self, calls, convert):
        return self.nvml.ask(calls, convert, self.handle, quiet=True)

    def pcie_replays(self):
        count = self.counters.pcie_replays()
        return count if isinstance(count, dict) else (count,)

    def give_up(self, fields, problem):
        """Record what this GPU never reports."""
        answer.write(
            {"type": "refused", "gpu": self.index, "fields": {name: problem for name in fields if name not in FIELDS_IN_MEMORY_USED}}
        )
        del self.questions[fields]

    def sample(self):
        """The GPU's current values."""
        self.nvml.record = self.record
        found = {}
        for fields, ask in list(self.questions.items()):
            values = ask()
            if not isinstance(values, dict):
                found.update((name, value) for name, value in zip(fields, values) if name not in FIELDS_IN_MEMORY_USED)
            elif values["cause"] in PERMANENT_CAUSES:
                self.give_up(fields, values)
        found.update(self.process_counts(found.pop("compute_processes", None)))
        self.write_new_alarms()
        return found

    def write_new_alarms(self):
        """Report new errors about the GPU itself."""
        if len(self.record.alarms) > self.known:
            self.known = len(self.record.alarms)
            answer.write({"type": "alarmed", "gpu": self.index, "alarms": list(self.record.alarms.values())})

    def process_counts(self, listed):
        if listed is None:
            return {}
        own = [one["memory"] for one in listed if self.family.includes(one["pid"])]
        told = {"listed": len(listed), "own": len(own)}
        known = [memory for memory in own if not isinstance(memory, dict)]
        return dict(told, own_memory=sum(known)) if known else told


def has_host_pids():
    try:
        return os.stat("/proc/self/ns/pid").st_ino == HOST_PIDS
    except OSError as error:
        return answer.missing("failed", "/proc/self/ns/pid: %s" % error)


def sample_until_killed(gpus):
    """Sample while any GPU answers."""
    while any(gpu.questions for gpu in gpus):
        began, spent = time.monotonic(), time.process_time()
        for gpu in gpus:
            if gpu.questions:
                answer.write(dict(gpu.sample(), type="sample", gpu=gpu.index, cpu=int(1e6 * time.process_time())))
        answer.flush()
        time.sleep(max(PERIOD_SECONDS - (time.monotonic() - began), REST_FACTOR * (time.process_time() - spent), 0.0))


def main():
    pynvml = load_binding()
    if pynvml is None:
        return
    nvml = NvmlCalls(pynvml)
    answer.mark("nvmlInit")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        answer.write(nvml.missing_of_error("nvmlInit", error))
        return
    answer.write({"type": "pids", "of_host": has_host_pids()})
    family = StarterProcesses()
    gpus = [SampledGpu(nvml, int(index), family) for index in sys.argv[sys.argv.index("--gpus") + 1].split(",")]
    answer.mark("sampling")
    sample_until_killed(gpus)


main()
answer.exit_now()
