"""The events of the smoke-training script; gpudoctor/children/train/stages.py, measure.py and all_reduce.py describe each field."""

from __future__ import annotations

from typing import cast

import msgspec

from gpudoctor.children import channel
from gpudoctor.snapshot import CompiledStep, Copy, MemoryRate, Product, Real, Speed, StageKind


class TrainingEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", forbid_unknown_fields=True):
    """Base of the events; `device` is the physical one, "GPU:1", and `logical` the framework's name for it."""


class Begin(TrainingEvent, tag="begin", frozen=True):
    """A stage begins."""

    stage: StageKind
    network: str = ""
    device: str = ""


class Device(msgspec.Struct, frozen=True):
    """A device that the framework lists."""

    name: str
    kind: str
    model: str | None
    compute_capability: str | None


class Ended(TrainingEvent, frozen=True, forbid_unknown_fields=False, kw_only=True):
    """A stage ended; further facts are for readers of the script's own output."""

    stage: StageKind
    seconds: float
    network: str = ""
    device: str = ""
    version: str | None = None
    """The framework's version, if already known."""
    devices: tuple[Device, ...] | None = None
    networks: tuple[str, ...] | None = None


class Succeeded(Ended, tag="end", frozen=True, kw_only=True):
    """The stage succeeded."""


class Failed(Ended, tag="failed", frozen=True, kw_only=True):
    """The framework raised."""

    error_type: str
    error: str


class Unsupported(Failed, tag="unsupported", frozen=True, kw_only=True):
    """This release cannot be trained with."""


class Number(TrainingEvent, tag="number", frozen=True):
    """The progress of training: its mean loss."""

    name: str
    device: str
    network: str
    step: int
    steps: int
    value: Real


class KernelRan(TrainingEvent, tag="kernel", frozen=True):
    """The first matmul on a device."""

    device: str
    logical: str
    ran_on: str
    error: Real
    tolerance: float


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the framework says that things are."""

    variables: tuple[str, ...]
    gradients: tuple[str, ...]
    outputs: tuple[str, ...]


class Trained(TrainingEvent, tag="training", frozen=True):
    """Training on one device."""

    device: str
    logical: str
    network: str
    short: bool
    losses: tuple[Real, ...]
    accuracy: Real
    expected_accuracy: float
    steps: int
    samples: int
    seconds: Real
    first_step_seconds: Real
    samples_per_second: Real
    peak_memory_bytes: int | None
    placement: Placement


class Agreed(TrainingEvent, tag="agreement", frozen=True):
    """The first steps compared with the CPU's."""

    device: str
    network: str
    reference: str
    steps: int
    max_loss_difference: Real
    loss_tolerance: float
    max_weight_difference: Real
    weight_tolerance: float


def _measured(tag: str, kind: type[msgspec.Struct]) -> type[TrainingEvent]:
    """Return the event with a measurement: the snapshot's fields but for the address."""
    fields = [(field.name, field.type) for field in msgspec.structs.fields(kind) if field.name != "address"]
    return cast("type[TrainingEvent]", msgspec.defstruct(f"Measured{kind.__name__}", fields, bases=(TrainingEvent,), tag=tag, frozen=True))


MEASURED = {
    Speed: _measured("speed", Speed),
    Copy: _measured("copy", Copy),
    MemoryRate: _measured("memory", MemoryRate),
    Product: _measured("product", Product),
    CompiledStep: _measured("compiled", CompiledStep),
}
"""The event of each measurement of a device."""


class Summed(TrainingEvent, tag="sum", frozen=True):
    """An all-reduce of one size."""

    over: tuple[str, ...]
    size: int
    repetitions: int
    seconds: Real
    bus_bytes_per_second: Real
    error: Real
    wrong: tuple[str, ...]


class RankPart(TrainingEvent, tag="part", frozen=True):
    """What one rank of several machines saw of an all-reduce."""

    size: int
    seconds: Real
    errors: dict[str, Real]


class Mapped(TrainingEvent, tag="mapped", frozen=True):
    """The CUDA libraries in the process."""

    files: tuple[str, ...]


class Done(channel.Done, tag_field="event", tag="done", frozen=True):
    """No stage failed; the last event."""


class Crashed(channel.Crashed, tag_field="event", tag="crashed", frozen=True):
    """Our script crashed outside the stages."""


RESULTS: dict[type[TrainingEvent], StageKind] = {
    KernelRan: StageKind.KERNEL,
    Trained: StageKind.TRAINING,
    Agreed: StageKind.AGREEMENT,
    MEASURED[Speed]: StageKind.SPEED,
    MEASURED[Copy]: StageKind.COPIES,
    MEASURED[MemoryRate]: StageKind.MEMORY,
    MEASURED[Product]: StageKind.PRODUCTS,
    MEASURED[CompiledStep]: StageKind.COMPILED_STEP,
    Summed: StageKind.ALL_REDUCE,
}
"""The event that a stage must send to show anything."""
TRAINING = (Begin, Succeeded, Failed, Unsupported, Number, *RESULTS, Mapped, Done, Crashed)
ACROSS = (Begin, Succeeded, Failed, Unsupported, RankPart, Done, Crashed)
"""The events of an all-reduce between machines."""
