"""Samples the GPUs through NVML during smoke training: a child samples, this process sorts the samples by framework and stage.

A hang, crash or lie of the child costs the samples, never the training. It starts after the inventory, which must not count our own
processes, and ends with the training.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from gpudoctor.children.channel import Crashed, Heard, decoded, own, script
from gpudoctor.children.events import Alarmed, NvmlPart, Pids, RefusedFields
from gpudoctor.probe.inventory import own_import_path
from gpudoctor.probe.telemetry_summary import GpuSamples, NvmlSample, RefusedValues
from gpudoctor.process import ChildEnd, Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import Cause, GpuLoad, Hang, Loads, Missing, Nvml, NvmlGpu, Status

CHILD_NAME, CHILD_DESCRIPTION = "load", "the sampling of the GPUs"
SILENCE_SECONDS = 5.0
"""Seconds without a sample after which the child counts as hung: it rests fifty times as long as a round takes."""
_STAGES_WITHOUT_GPU = ("import", "devices", "processes")
"""Stages in which a framework does not use its devices yet."""


TELEMETRY_EVENTS = (NvmlPart, NvmlSample, Pids, RefusedFields, Alarmed, Missing, Crashed)
"""The events of the script, which writes lines until it is killed."""


class GpuWatch:
    """One watch over all training of a check: `begin`, then pass every event `recording_progress`, then `finish`."""

    def __init__(self, supervisor: Supervisor, nvml: Nvml | Missing, places: Mapping[str, str], environ: Mapping[str, str]) -> None:
        """`places` are the addresses of the training GPUs, by their names in frameworks ("GPU:0")."""
        self._supervisor = supervisor
        self._places = places
        self._environ = environ
        self._hung = isinstance(nvml, Nvml) and isinstance(nvml.hang, Hang)
        seen = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
        self._gpus: dict[int, NvmlGpu] = {gpu.index: gpu for gpu in seen if gpu.address in places.values()}
        self._gathered: dict[tuple[str, int], GpuSamples] = {}
        self._refused: dict[int, RefusedValues] = {}
        self._alarms: dict[int, tuple[Status, ...]] = {}
        self._missing: Missing | None = None
        self._strange: Missing | None = None
        self._pids_of_host: bool | Missing = Missing(Cause.FAILED, "the sampling child did not report its process namespace")
        self._doing = Event("", "")
        self._first = self._last = 0.0
        self._cpu = 0

    def begin(self) -> None:
        """Start sampling, if there is anything to sample."""
        if not self._gpus or self._hung:
            return
        indices, forever = ",".join(map(str, self._gpus)), float("inf")  # ended by `finish`
        arguments = ("--gpus", indices, "--path", *own_import_path())
        spec = script(CHILD_NAME, "own/nvml_load.py", own(), self._environ, *arguments, stall=forever, deadline=forever, keep=False)
        self._supervisor.start(spec, self.take)

    def recording_progress(self, progress: Progress) -> Progress:
        """`progress`, with a record of the stages that run on each GPU."""

        def overheard(event: Event) -> None:
            if event.kind == "begin" and event.who:
                self._doing = event
            elif event.kind == "end":
                self._doing = msgspec.structs.replace(self._doing, what="")
            progress(event)

        return overheard

    def take(self, line: bytes) -> None:
        """Take a line of the child's answer; samples after an invalid one are not trusted."""
        said, problem = decoded(line, TELEMETRY_EVENTS)
        if problem or isinstance(said, Crashed):
            self._strange = self._strange or Missing(
                Cause.FAILED if problem else Cause.CRASHED, f"{CHILD_DESCRIPTION} {problem or said.reason}"
            )
        elif isinstance(said, NvmlSample):
            self._add(said)
        elif isinstance(said, Pids):
            self._pids_of_host = said.of_host
        elif isinstance(said, Missing):
            self._missing = said
        elif isinstance(said, Alarmed):
            self._alarms[said.gpu] = said.alarms
        elif isinstance(said, RefusedFields):
            self._refused.setdefault(said.gpu, {}).update(said.fields)

    def _add(self, sample: NvmlSample) -> None:
        sample.at = self._last = time.monotonic()
        self._first = self._first or self._last
        self._cpu = sample.cpu
        doing = self._doing
        if not doing.who or sample.gpu not in self._gpus:
            return
        address = str(self._gpus[sample.gpu].address)
        key = (doing.who, sample.gpu)
        if key not in self._gathered:
            self._gathered[key] = GpuSamples(doing.who, address)
        here = self._places.get(doing.device) == address if doing.device else doing.what not in _STAGES_WITHOUT_GPU
        self._gathered[key].add(sample, (doing.what, doing.network) if here and doing.what else None)

    def finish(self) -> Loads | Missing:
        """Stop sampling; what was seen, or why nothing was."""
        if not self._gpus:
            return Missing(Cause.NOT_ASKED, "no GPU known to NVML was used for training")
        if self._hung:
            return Missing(Cause.NOT_ASKED, "NVML hung earlier, so it was not sampled during training")
        now = time.monotonic()
        cut = self._early_end(now)
        gathered = (self._load_of_gpu(index, samples) for (_, index), samples in self._gathered.items())
        loads = tuple(load for load in gathered if load is not None)
        if not loads:
            return self._missing or cut or Missing(Cause.FAILED, "no sample was taken during training on a GPU")
        seconds = round(self._last - self._first, 3)
        return Loads(gpus=loads, seconds=seconds, cpu_seconds=self._cpu / 1e6, cut=cut.reason if cut else "")

    def _load_of_gpu(self, index: int, gathered: GpuSamples) -> GpuLoad | None:
        found = gathered.load(self._gpus[index].memory_used, self._refused.get(index, {}), pids_of_host=self._pids_of_host)
        return found and msgspec.structs.replace(found, alarms=self._alarms.get(index, ()))

    def _early_end(self, now: float) -> Missing | None:
        """Why the samples end early, if they do."""
        self._supervisor.stop([CHILD_NAME])
        outcome = self._supervisor.wait([CHILD_NAME])[CHILD_NAME]
        if self._strange is not None or outcome.end is not ChildEnd.STOPPED:
            return self._strange or Heard(outcome, TELEMETRY_EVENTS, CHILD_DESCRIPTION).gap()
        silent = now - (self._last or now - outcome.seconds)
        if silent < SILENCE_SECONDS:
            return None
        return Missing(Cause.TIMED_OUT, f"{CHILD_DESCRIPTION} did not respond for {silent:.0f} s in {outcome.mark or 'its start'}")
