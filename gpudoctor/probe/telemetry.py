"""Watches the GPUs through NVML while smoke trainings run on them: a child samples, this process sorts the samples by framework and stage.

Whatever the child does, hang, crash or lie, costs the samples and never the training. It is started when the inventory has finished, so that
nothing of ours is counted there, and ends with the trainings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from gpudoctor.children.channel import Crashed, Heard, decoded, own, script
from gpudoctor.children.events import Alarmed, NvmlPart, Pids, Refused
from gpudoctor.probe.inventory import own_path
from gpudoctor.probe.telemetry_summary import Gathered, Refusals, Sample
from gpudoctor.process import End, Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import Cause, GpuLoad, Hang, Loads, Missing, Nvml, NvmlGpu, Status

NAME, WHO = "load", "the sampling of the GPUs"
SILENCE = 5.0
"""Seconds without a sample after which the child is said to have hung: it rests fifty times as long as a round of samples costs."""
_NOWHERE = ("import", "devices", "processes")
"""Stages in which a framework does not work on its devices yet."""


TELEMETRY = (NvmlPart, Sample, Pids, Refused, Alarmed, Missing, Crashed)
"""What the script may say, a line at a time until it is killed."""


class GpuWatch:
    """One watch, over all trainings of a check: `begin`, then let every event pass `through`, then `finish`."""

    def __init__(self, supervisor: Supervisor, nvml: Nvml | Missing, places: Mapping[str, str], environ: Mapping[str, str]) -> None:
        """`places` are the addresses of the GPUs that are trained on, by the names that frameworks give them ("GPU:0")."""
        self._supervisor = supervisor
        self._places = places
        self._environ = environ
        self._hung = isinstance(nvml, Nvml) and isinstance(nvml.hang, Hang)
        seen = nvml.gpus if isinstance(nvml, Nvml) and isinstance(nvml.gpus, tuple) else ()
        self._gpus: dict[int, NvmlGpu] = {gpu.index: gpu for gpu in seen if gpu.address in places.values()}
        self._gathered: dict[tuple[str, int], Gathered] = {}
        self._refused: dict[int, Refusals] = {}
        self._alarms: dict[int, tuple[Status, ...]] = {}
        self._missing: Missing | None = None
        self._strange: Missing | None = None
        self._pids_of_host: bool | Missing = Missing(Cause.FAILED, "the sampling child did not say whose process numbers it sees")
        self._doing = Event("", "")
        self._first = self._last = 0.0
        self._cpu = 0

    def begin(self) -> None:
        """Start sampling, where there is something to sample."""
        if not self._gpus or self._hung:
            return
        indices, forever = ",".join(map(str, self._gpus)), float("inf")  # `finish` says when it ends
        arguments = ("--gpus", indices, "--path", *own_path())
        spec = script(NAME, "own/nvml_load.py", own(), self._environ, *arguments, stall=forever, deadline=forever, keep=False)
        self._supervisor.start(spec, self.take)

    def through(self, progress: Progress) -> Progress:
        """`progress`, overheard: which stage of which framework runs on which GPU."""

        def overheard(event: Event) -> None:
            if event.kind == "begin" and event.who:
                self._doing = event
            elif event.kind == "end":
                self._doing = msgspec.structs.replace(self._doing, what="")
            progress(event)

        return overheard

    def take(self, line: bytes) -> None:
        """Take a line of the child's answer; one that is no event ends the samples that can be trusted."""
        said, problem = decoded(line, TELEMETRY)
        if problem or isinstance(said, Crashed):
            self._strange = self._strange or Missing(Cause.FAILED if problem else Cause.CRASHED, f"{WHO} {problem or said.reason}")
        elif isinstance(said, Sample):
            self._add(said)
        elif isinstance(said, Pids):
            self._pids_of_host = said.of_host
        elif isinstance(said, Missing):
            self._missing = said
        elif isinstance(said, Alarmed):
            self._alarms[said.gpu] = said.alarms
        elif isinstance(said, Refused):
            self._refused.setdefault(said.gpu, {}).update(said.fields)

    def _add(self, sample: Sample) -> None:
        sample.at = self._last = time.monotonic()
        self._first = self._first or self._last
        self._cpu = sample.cpu
        doing = self._doing
        if not doing.who or sample.gpu not in self._gpus:
            return
        address = str(self._gpus[sample.gpu].address)
        key = (doing.who, sample.gpu)
        if key not in self._gathered:
            self._gathered[key] = Gathered(doing.who, address)
        here = self._places.get(doing.device) == address if doing.device else doing.what not in _NOWHERE
        self._gathered[key].add(sample, (doing.what, doing.network) if here and doing.what else None)

    def finish(self) -> Loads | Missing:
        """End sampling; what was seen, or why nothing was."""
        if not self._gpus:
            return Missing(Cause.NOT_ASKED, "no GPU that NVML shows was trained on")
        if self._hung:
            return Missing(Cause.NOT_ASKED, "NVML does not always return, so it was not asked during the training")
        now = time.monotonic()
        cut = self._cut(now)
        gathered = (self._load(index, one) for (_, index), one in self._gathered.items())
        loads = tuple(load for load in gathered if load is not None)
        if not loads:
            return self._missing or cut or Missing(Cause.FAILED, "no sample was taken while a GPU was trained on")
        seconds = round(self._last - self._first, 3)
        return Loads(gpus=loads, seconds=seconds, cpu_seconds=self._cpu / 1e6, cut=cut.reason if cut else "")

    def _load(self, index: int, gathered: Gathered) -> GpuLoad | None:
        found = gathered.load(self._gpus[index].memory_used, self._refused.get(index, {}), pids_of_host=self._pids_of_host)
        return found and msgspec.structs.replace(found, alarms=self._alarms.get(index, ()))

    def _cut(self, now: float) -> Missing | None:
        """Why the samples end early, if they do."""
        self._supervisor.stop([NAME])
        outcome = self._supervisor.wait([NAME])[NAME]
        if self._strange is not None or outcome.end is not End.STOPPED:
            return self._strange or Heard(outcome, TELEMETRY, WHO).gap()
        silent = now - (self._last or now - outcome.seconds)
        if silent < SILENCE:
            return None
        return Missing(Cause.TIMED_OUT, f"{WHO} gave no sign of life for {silent:.0f} s in {outcome.mark or 'its start'}")
