"""What samples of a GPU under load show: what throttled its clocks, and whether NVML saw any training there."""

from __future__ import annotations

from gpudoctor.snapshot import GpuLoad, Held, Loads, Snapshot, StageLoad

# nvml.h, nvmlClocksEventReason*
APPLICATION_CLOCKS, SW_POWER_CAP, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x2, 0x4, 0x8, 0x20, 0x40, 0x80
THROTTLE_REASONS = {
    APPLICATION_CLOCKS: "application clocks",
    SW_POWER_CAP: "the power limit",
    HW_SLOWDOWN: "a hardware slowdown",
    0x10: "sync boost",
    SW_THERMAL: "heat",
    HW_THERMAL: "heat (hardware)",
    POWER_BRAKE: "a power brake",
    0x100: "display clocks",
}
"""Why clocks are throttled, in words; idling does not count."""
UNSEEN_SECONDS = 2.0
"""How long training must run unseen: twice the longest period over which NVML measures utilisation (nvml.h, nvmlUtilization_t)."""


def loads_of_gpu(snapshot: Snapshot, key: str) -> tuple[GpuLoad, ...]:
    """The samples of one GPU during training, one entry a framework; empty if there are none."""
    return tuple(load for load in snapshot.loads.gpus if load.address == key) if isinstance(snapshot.loads, Loads) else ()


def held_samples(stages: tuple[StageLoad, ...]) -> tuple[Held, ...]:
    """The reasons for the clocks in all of these stages."""
    return tuple(held for stage in stages if isinstance(stage.held, tuple) for held in stage.held)


def sample_share(held: tuple[Held, ...], bits: int) -> str:
    """In how many samples one of these reasons was given, "3 of 40"; empty if in none."""
    count = sum(one.samples for one in held if one.reasons & bits)
    return f"{count} of {sum(one.samples for one in held)} samples" if count else ""


def throttle_text(held: tuple[Held, ...]) -> str:
    """What throttled the clocks and how often, "heat in 3 of 40 samples, ..."; empty if nothing did."""
    return ", ".join(f"{what} in {seen}" for bit, what in THROTTLE_REASONS.items() if (seen := sample_share(held, bit)))


def is_training_unseen(load: GpuLoad) -> bool:
    """Whether NVML contradicts a report of training on this GPU.

    Three observations together: its process lists were readable and never had the training process, no memory was taken, and nothing ran.
    One alone is not enough: lists may be of another PID namespace, and short work may fall between two samples.
    """
    seconds = sum(stage.seconds for stage in load.stages)
    still = isinstance(load.memory_before, int) and isinstance(load.memory_most, int) and load.memory_most <= load.memory_before
    return load.listed is False and still and load.utilization == 0 and seconds >= UNSEEN_SECONDS
