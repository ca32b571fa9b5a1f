"""What NVML showed of the GPUs while smoke trainings ran on them, sampled some times a second and put together by GPU, framework and stage.

Memory is in bytes, temperature in degrees Celsius, power in milliwatts, clocks in MHz, times in seconds.
"""

from __future__ import annotations

from gpudoctor.snapshot.driver import Status
from gpudoctor.snapshot.smoke import StageKind
from gpudoctor.snapshot.values import NOT_ASKED, Missing, Observed


class Span(Observed, frozen=True):
    """Where the values of a number lay."""

    lowest: int
    median: int
    highest: int


class Held(Observed, frozen=True):
    """How often one set of reasons for the clocks was seen."""

    reasons: int
    """nvmlClocksEventReason bits."""
    samples: int


class StageLoad(Observed, frozen=True):
    """One GPU during the stage of a training that ran on it. What no sample held is Missing."""

    stage: StageKind
    samples: int
    seconds: float
    """From the first sample to the last."""
    clock_sm: Span | Missing = NOT_ASKED
    """Of the samples in which it worked; `clock_memory` likewise."""
    clock_memory: Span | Missing = NOT_ASKED
    power: int | Missing = NOT_ASKED
    """The highest; so are temperature, utilisation, link generation and width."""
    power_limit: int | Missing = NOT_ASKED
    """The lowest that was enforced."""
    temperature: int | Missing = NOT_ASKED
    utilization: int | Missing = NOT_ASKED
    link_generation: int | Missing = NOT_ASKED
    link_width: int | Missing = NOT_ASKED
    replays: int | Missing = NOT_ASKED
    """Transfers that its PCIe link repeated meanwhile."""
    network: str = ""
    """As of `Stage`."""
    held: tuple[Held, ...] | Missing = NOT_ASKED
    """The reasons for its clocks, often seen first."""


class GpuLoad(Observed, frozen=True):
    """One GPU while one framework was at work."""

    framework: str
    address: str
    stages: tuple[StageLoad, ...] = ()
    """Those that ran on it, in the order in which they began."""
    memory_before: int | Missing = NOT_ASKED
    """In use on the whole GPU before anything was trained."""
    memory_most: int | Missing = NOT_ASKED
    """In use on the whole GPU at most; `utilization` likewise, in percent."""
    utilization: int | Missing = NOT_ASKED
    listed: bool | Missing = NOT_ASKED
    """Whether NVML listed the training's process, or one that it started. Missing where its list cannot tell: its numbers are not this machine's."""
    own_memory: int | Missing = NOT_ASKED
    """What NVML says that these processes used at most."""
    alarms: tuple[Status, ...] = ()
    """Answers that tell of the GPU itself, as `NvmlGpu.alarms` has them."""


class Loads(Observed, frozen=True):
    """The watch over all trainings."""

    gpus: tuple[GpuLoad, ...]
    seconds: float
    """From the first sample to the last."""
    cpu_seconds: float
    """What the sampling process has cost, its start included."""
    cut: str = ""
    """Why the samples end before the trainings did; empty where they do not."""
