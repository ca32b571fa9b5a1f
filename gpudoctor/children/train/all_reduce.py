"""All-reduce of arrays with known content over all devices, like the gradients of multi-GPU training. Python 3.6 and newer; draws no conclusions.

    PYTHON smoke.py --framework tensorflow|torch|jax --answer-fd N --devices 0,1|cpu --all-reduce [--memory 0=LIMIT/TOTAL]

    {"event": "sum", "size", "repetitions", "seconds", "bus_bytes_per_second", "error", "wrong": [devices]}
    {"event": "done"}                                                              last, and only if no stage failed

`cpu` stands for two devices that the framework creates on the CPU. Stages: import and devices, or processes if the framework needs one process
per device (those import and open at the same time); then all-reduce, which begins when everything else is done.

Device number d, counted from 0, holds (d + 1) x, with x random odd multiples of 1/64 between -1 and 1. float32 holds every partial sum over n devices,
in any order, exactly (multiples of 1/64 of at most n (n + 1) / 2, for n below 700), so a right sum has no error at all, while a part that is
left out, added twice or taken from elsewhere causes one. Each repetition has its own arrays, all of them checked; repetitions start right after
one another, after an untimed one that connects the devices. `size` is that of one array in bytes, `error` the largest absolute difference.
The rate is the bus bandwidth of nccl-tests, 2 (n - 1) / n x size / seconds, which is independent of the number of devices:
https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md

In addition to stages.py's interface and upload, download and wait of measure.py, an engine has

    spread(count)                   splits the CPU into `count` devices; called before the import
    adders(logicals, arrays, count) `count` functions, each called once: it starts one all-reduce of `arrays`, one for each device, and returns
                                    the sums, one for each device
    ranked                          whether it needs one process per device; if so, also
    join(rank, ranks, logical, store)   meets the others through a new file whose name all of them know, or at tcp://HOST:PORT, which rank 0 opens
    leave()                             waits until all ranks have their sums

Between machines each process is started alone, with --rank NUMBER/COUNT/0/tcp://HOST:PORT, and answers for its one device, "rank NUMBER":

    {"event": "part", "size", "seconds", "errors": {"rank 0": error}}
"""

import ctypes
import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

MIB = 1 << 20
SMALL, LARGE, LARGE_ON_CPU = 4 << 10, 128 * MIB, 4 * MIB
UNKNOWN_SHARE = 256 * MIB
"""Most bytes to use on a GPU with unknown free memory."""
REPETITIONS = 3
ARRAYS_OF_ONE_SIZE = 2 * (REPETITIONS + 2)
"""Most arrays of one size on a device at a time: the inputs, the sums, and as much again for the framework."""
CPU_DEVICES = 2
LOCAL_DEFAULTS = {"NCCL_SOCKET_IFNAME": "lo", "GLOO_SOCKET_IFNAME": "lo", "NCCL_DEBUG": "WARN"}
"""Defaults on one machine: nothing listens beyond it, and NCCL says why it fails."""
PR_SET_PDEATHSIG = 1  # linux/prctl.h


class Rank:
    """One process of a framework that needs one per device: its number, their count, and where they meet. On one machine it dies with its parent."""

    def __init__(self, text):
        number, count, parent, self.store = text.split("/", 3)
        self.number, self.count = int(number), int(count)
        self.alone = self.store.startswith("tcp://")
        if self.alone:
            return
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != int(parent):
            sys.exit(1)


class AllReduce:
    """One run."""

    def __init__(self, stages, ordinals):
        self.stages, self.engine, self.answers, self.ordinals = stages, stages.engine, stages.answers, ordinals
        self.names = ["GPU:{}".format(ordinal) for ordinal in ordinals] or ["CPU:{}".format(number) for number in range(CPU_DEVICES)]

    def run(self, rank):
        """Return the exit status. `rank` is this process's of several; None: the process that was started."""
        rank = rank and Rank(rank)
        if rank is not None and rank.alone:
            self.names = ["rank {}".format(number) for number in range(rank.count)]
        else:
            for name, value in LOCAL_DEFAULTS.items():
                os.environ.setdefault(name, value)
        try:
            if self.engine.ranked and rank is None:
                self.lead_processes()
            else:
                self.take_part(rank)
        except self.stages.protocol.StageError:
            return 1
        self.answers.event("done")
        if rank is not None and not rank.alone:
            sys.stdin.read()  # the others may still be reading their last sum
        return 0

    def sizes(self):
        shares = [limit for limit, _ in self.engine.memory.values()] or [UNKNOWN_SHARE]
        largest = min([LARGE] + [share // ARRAYS_OF_ONE_SIZE for share in shares]) if self.ordinals else LARGE_ON_CPU
        return SMALL, max(SMALL, largest // MIB * MIB)

    def take_part(self, rank):
        """Run the all-reduces, over all devices or as one of several single-device processes."""
        first, ours = (0, len(self.names)) if rank is None else (rank.number, 1)
        if not self.ordinals:
            self.engine.spread(ours)
        self.stages.load()
        ordinals = self.ordinals if rank is not None and rank.alone else self.ordinals[first : first + ours]
        logicals = [device.logical for device in self.stages.find(ordinals, None)][:ours]
        with self.answers.stage("all-reduce"):
            if not getattr(self.engine, "sums", True):
                raise self.stages.protocol.UnsupportedError(
                    "This release of {} is too old for gpudoctor's all-reduce.".format(self.engine.name)
                )
            if len(logicals) < ours:
                raise LookupError("{} did not create {} devices on the CPU.".format(self.engine.name, ours))
            self.answers.mark("connecting the devices")
            if rank is not None:
                self.engine.join(rank.number, rank.count, logicals[0], rank.store)
            for size in self.sizes():
                self.answers.mark("an all-reduce of {} bytes over {}".format(size, ", ".join(self.names)))
                seconds, errors = self.timed_sum(size, logicals, first)
                if rank is None:
                    self.write_sum(size, seconds, errors)
                else:
                    self.answers.event("part", size=size, seconds=seconds, errors=errors)
            if rank is not None and rank.alone:
                self.engine.leave()

    def write_sum(self, size, seconds, errors):
        """`errors` has one entry per device."""
        count = len(self.names)
        rate = 2.0 * (count - 1) / count * size / seconds
        wrong = [name for name in self.names if errors[name] != 0]
        facts = {"error": largest_error(errors.values()), "wrong": wrong, "seconds": seconds, "bus_bytes_per_second": rate}
        self.answers.event("sum", size=size, repetitions=REPETITIONS, **facts)

    def timed_sum(self, size, logicals, first):
        """Seconds of one all-reduce, and the largest error of each of our devices."""
        np, engine = self.stages.np, self.engine
        numerators = np.random.RandomState(7).randint(-32, 32, size // 4, np.int8) * np.int8(2) + np.int8(1)
        part = numerators.astype(np.float32) / np.float32(64)
        arrays = [part * np.float32(first + number + 1) for number in range(len(logicals))]
        adders = engine.adders(logicals, arrays, REPETITIONS + 1)
        sums = [adders[0]()]
        wait_for_all(engine, sums[0])
        began = time.monotonic()
        sums += [start() for start in adders[1:]]
        for total in sums:
            wait_for_all(engine, total)
        seconds = (time.monotonic() - began) / REPETITIONS
        expected = part * np.float32(len(self.names) * (len(self.names) + 1) // 2)
        errors = {}
        for name, theirs in zip(self.names[first:], zip(*sums)):
            errors[name] = largest_error(float(np.abs(np.asarray(engine.download(fix, False)) - expected).max()) for fix in theirs)
        return seconds, errors

    def lead_processes(self):
        """Start a process for each device and combine their answers."""
        parts = Parts(self.names, self.answers)
        with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
            try:
                with self.answers.stage("processes"):
                    for number in range(len(self.names)):
                        rank = "{}/{}/{}/{}".format(number, len(self.names), os.getpid(), os.path.join(folder, "store"))
                        parts.start(["--rank", rank])
                    parts.answers_of_all("begin", "all-reduce")
                with self.answers.stage("all-reduce"):
                    for size in self.sizes():
                        told = parts.answers_of_all("part", size)
                        errors = {name: error for part in told.values() for name, error in part["errors"].items()}
                        self.write_sum(size, max(part["seconds"] for part in told.values()), errors)
            finally:
                parts.kill_all()


class Parts:
    """The processes of one run, and their answers so far."""

    def __init__(self, names, answers):
        self.names, self.answers = names, answers
        self.processes = []
        self.lines = queue.Queue()
        self.answers_by_event = {}

    def start(self, more):
        """Start this program again; it dies with us and answers through its own pipe."""
        number, (reading, writing) = len(self.processes), os.pipe()
        command = [sys.executable, *sys.argv, "--answer-fd", str(writing), *more]
        self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(writing,)))
        os.close(writing)
        threading.Thread(target=self.read_answers, args=(number, reading), daemon=True).start()

    def read_answers(self, number, descriptor):
        with os.fdopen(descriptor, encoding="ascii") as lines:
            for line in lines:
                self.lines.put((number, line.rstrip("\n")))
        self.lines.put((number, ""))

    def answers_of_all(self, event, about):
        """{number: answer} once every process has sent this event; raises if one failed or ended early."""
        while len(self.answers_by_event.get((event, about), ())) < len(self.processes):
            number, line = self.lines.get()
            name = self.names[number]
            if line.startswith("@"):
                self.answers.mark("{}: {}".format(name, line[1:]))
                continue
            told = json.loads(line) if line else {"event": "failed", "stage": "its process", "error": self.cause_of_end(number)}
            if told["event"] == "failed":
                raise RuntimeError("{}, {}: {}".format(name, told["stage"], told["error"]))
            self.answers_by_event.setdefault((told["event"], told.get("stage") or told.get("size")), {})[number] = told
        return self.answers_by_event[event, about]

    def cause_of_end(self, number):
        status = self.processes[number].wait()
        return "was killed by signal {}".format(-status) if status < 0 else "ended with status {}".format(status)

    def kill_all(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


def wait_for_all(engine, results):
    for result in results:
        engine.wait(result)


def largest_error(errors):
    """The largest; NaN above all."""
    errors = [float(error) for error in errors]
    return next(filter(math.isnan, errors), max(errors))
