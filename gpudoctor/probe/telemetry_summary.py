"""Summarises the samples of one GPU: maxima, clocks, why they were held back, whose processes ran. Pure."""

from __future__ import annotations

from collections import Counter
from statistics import median_low
from typing import Annotated

import msgspec

from gpudoctor.snapshot import Cause, GpuLoad, Held, Missing, Span, StageKind, StageLoad

GPU_IDLE_REASON = 0x1
"""nvml.h, nvmlClocksEventReasonGpuIdle."""
SampleNumber = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""What the snapshot's JSON can hold; anything else is invalid."""


class NvmlSample(msgspec.Struct, tag_field="type", tag="sample", forbid_unknown_fields=True):
    """One line of the sampling child: a GPU at one moment, in the snapshot's units; None if it did not report the value."""

    gpu: int
    cpu: SampleNumber = 0
    """Microseconds that the child has used so far."""
    at: float = 0.0
    """When it arrived, by time.monotonic()."""
    clock_sm: SampleNumber | None = None
    clock_memory: SampleNumber | None = None
    power: SampleNumber | None = None
    power_limit: SampleNumber | None = None
    temperature: SampleNumber | None = None
    clocks_event_reasons: SampleNumber | None = None
    link_generation: SampleNumber | None = None
    link_width: SampleNumber | None = None
    utilization: SampleNumber | None = None
    memory_used: SampleNumber | None = None
    pcie_replays: SampleNumber | None = None
    listed: SampleNumber | None = None
    """Compute processes on this GPU."""
    own: SampleNumber | None = None
    """How many of them belong to the training."""
    own_memory: SampleNumber | None = None


RefusedValues = dict[str, Missing]
"""Why a GPU does not report a field."""


class GpuSamples:
    """One GPU during the training of one framework."""

    def __init__(self, framework: str, address: str) -> None:
        self.framework = framework
        self.address = address
        self._stages: dict[tuple[str, str], list[NvmlSample]] = {}
        self._memory: int | None = None
        self._own: list[NvmlSample] = []

    def add(self, sample: NvmlSample, stage: tuple[str, str] | None) -> None:
        """Take a sample; `stage` is the kind and network of what runs on this GPU, None if nothing does."""
        if stage is not None:
            self._stages.setdefault(stage, []).append(sample)
        if sample.own:
            self._own.append(sample)
        if sample.memory_used is not None:
            self._memory = max(sample.memory_used, self._memory or 0)

    def load(self, before: int | Missing, refused: RefusedValues, *, pids_of_host: bool | Missing) -> GpuLoad | None:
        """The summary; None if no stage on this GPU was sampled. `before` is the memory in use before any training."""
        samples = [sample for several in self._stages.values() for sample in several]
        if not samples:
            return None
        own = [sample.own_memory for sample in self._own if sample.own_memory is not None]
        return GpuLoad(
            framework=self.framework,
            address=self.address,
            stages=tuple(_stage_load(stage, several, refused) for stage, several in self._stages.items()),
            memory_before=before,
            memory_most=_missing_value("memory_used", refused) if self._memory is None else self._memory,
            utilization=_highest_value("utilization", samples, refused),
            listed=bool(self._own) or self._absence_of_process(samples, refused, pids_of_host=pids_of_host),
            own_memory=max(own) if own else Missing(Cause.UNSUPPORTED, "NVML does not report how much memory the training process uses"),
        )

    @staticmethod
    def _absence_of_process(samples: list[NvmlSample], refused: RefusedValues, *, pids_of_host: bool | Missing) -> bool | Missing:
        """False if NVML's process lists were readable and would have shown the training's process."""
        if all(sample.listed is None for sample in samples):
            return _missing_value("compute_processes", refused)
        if isinstance(pids_of_host, Missing):
            return pids_of_host
        return False if pids_of_host else Missing(Cause.UNSUPPORTED, "in this PID namespace NVML's process ids cannot be matched")


def _stage_load(stage: tuple[str, str], samples: list[NvmlSample], refused: RefusedValues) -> StageLoad:
    working = [sample for sample in samples if not _is_idle(sample)]
    return StageLoad(
        stage=StageKind(stage[0]),
        network=stage[1],
        samples=len(samples),
        seconds=round(samples[-1].at - samples[0].at, 3),
        clock_sm=_value_span("clock_sm", working, refused),
        clock_memory=_value_span("clock_memory", working, refused),
        power=_highest_value("power", samples, refused),
        power_limit=min(limits) if (limits := _sample_values("power_limit", samples)) else _missing_value("power_limit", refused),
        temperature=_highest_value("temperature", samples, refused),
        utilization=_highest_value("utilization", samples, refused),
        link_generation=_highest_value("link_generation", samples, refused),
        link_width=_highest_value("link_width", samples, refused),
        replays=max(0, counts[-1] - counts[0])
        if (counts := _sample_values("pcie_replays", samples))
        else _missing_value("pcie_replays", refused),
        held=_held_clocks(samples, refused),
    )


def _is_idle(sample: NvmlSample) -> bool:
    """Whether nothing ran on the GPU at that moment, as often while a training compiles: its clocks then mean nothing."""
    return bool((sample.clocks_event_reasons or 0) & GPU_IDLE_REASON) or sample.utilization == 0


def _sample_values(name: str, samples: list[NvmlSample]) -> list[int]:
    return [value for sample in samples if (value := getattr(sample, name)) is not None]


def _missing_value(name: str, refused: RefusedValues) -> Missing:
    return refused.get(name, Missing(Cause.FAILED, f"no sample has {name}"))


def _highest_value(name: str, samples: list[NvmlSample], refused: RefusedValues) -> int | Missing:
    values = _sample_values(name, samples)
    return max(values) if values else _missing_value(name, refused)


def _value_span(name: str, working: list[NvmlSample], refused: RefusedValues) -> Span | Missing:
    if not working:
        return Missing(Cause.ABSENT, "the GPU was idle in every sample")
    values = _sample_values(name, working)
    return Span(min(values), median_low(values), max(values)) if values else _missing_value(name, refused)


def _held_clocks(samples: list[NvmlSample], refused: RefusedValues) -> tuple[Held, ...] | Missing:
    counted = Counter(_sample_values("clocks_event_reasons", samples)).most_common()
    return tuple(Held(reasons, count) for reasons, count in counted) if counted else _missing_value("clocks_event_reasons", refused)
