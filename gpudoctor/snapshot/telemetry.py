"""NVML's readings of the GPUs during smoke training, sampled several times a second, by GPU, framework and stage.

Memory is in bytes, temperature in degrees Celsius, power in milliwatts, clocks in MHz, times in seconds.
"""

from __future__ import annotations

from gpudoctor.snapshot.driver import Status
from gpudoctor.snapshot.smoke import StageKind
from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class Span(Observed, frozen=True):
    """The range of a number."""

    lowest: int
    median: int
    highest: int


class Held(Observed, frozen=True):
    """How often one set of clock reasons was seen."""

    reasons: int
    """nvmlClocksEventReason bits."""
    samples: int


class StageLoad(Observed, frozen=True):
    """A GPU during one of its training stages. Values without a sample are Missing."""

    stage: StageKind
    samples: int
    seconds: float
    """From the first sample to the last."""
    clock_sm: Span | Missing = NOT_ASKED
    """Of the samples with activity; the same for `clock_memory`."""
    clock_memory: Span | Missing = NOT_ASKED
    power: int | Missing = NOT_ASKED
    """The maximum, as for temperature, utilisation, link generation and width."""
    power_limit: int | Missing = NOT_ASKED
    """The lowest enforced limit."""
    temperature: int | Missing = NOT_ASKED
    utilization: int | Missing = NOT_ASKED
    link_generation: int | Missing = NOT_ASKED
    link_width: int | Missing = NOT_ASKED
    replays: int | Missing = NOT_ASKED
    """PCIe transfers replayed during the stage."""
    network: str = ""
    """As in `Stage`."""
    held: tuple[Held, ...] | Missing = NOT_ASKED
    """The reasons for its clocks, most frequent first."""


class GpuLoad(Observed, frozen=True):
    """A GPU during the training of one framework."""

    framework: str
    address: str
    stages: tuple[StageLoad, ...] = ()
    """Its stages, in the order in which they began."""
    memory_before: int | Missing = NOT_ASKED
    """In use on the whole GPU before any training."""
    memory_most: int | Missing = NOT_ASKED
    """The maximum in use on the whole GPU; the same for `utilization`, in percent."""
    utilization: int | Missing = NOT_ASKED
    listed: bool | Missing = NOT_ASKED
    """Whether NVML listed the training process or one of its children. Missing if that is unknown, because process ids here are not the machine's."""
    own_memory: int | Missing = NOT_ASKED
    """The maximum that NVML reports for these processes."""
    alarms: tuple[Status, ...] = ()
    """Errors about the GPU itself, as in `NvmlGpu.alarms`."""


class Loads(Observed, frozen=True):
    """The samples of all training runs."""

    gpus: tuple[GpuLoad, ...]
    seconds: float
    """From the first sample to the last."""
    cpu_seconds: float
    """The cost of the sampling process, its start included."""
    cut: str = ""
    """Why sampling stopped before training did; empty if it did not."""
