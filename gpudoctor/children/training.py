"""The events of the smoke-training script; gpudoctor/children/train/stages.py, measure.py and all_reduce.py describe each field."""

from __future__ import annotations

from typing import cast

import msgspec

from gpudoctor.children import channel
from gpudoctor.snapshot import Agreement, CompiledStep, Copy, Kernel, MemoryRate, Product, Real, Speed, StageKind, Sum, Training


class TrainingEvent(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", forbid_unknown_fields=True):
    """Base of the events; `device` is the physical one, "GPU:1", and `logical` the framework's name for it."""


class Begin(TrainingEvent, tag="begin", frozen=True):
    """A stage begins."""

    stage: StageKind
    network: str = ""
    device: str = ""


class FrameworkDevice(msgspec.Struct, frozen=True):
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
    devices: tuple[FrameworkDevice, ...] | None = None
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


class Placement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the framework says that things are."""

    variables: tuple[str, ...]
    gradients: tuple[str, ...]
    outputs: tuple[str, ...]


_READER_FIELDS = {"address", "placed_on", "agreement"}


def _measured_event(tag: str, kind: type[msgspec.Struct], **more: type) -> type[TrainingEvent]:
    """Return the event with an observation: the snapshot's fields but for those that the reader adds, and `more`."""
    fields = [(field.name, field.type) for field in msgspec.structs.fields(kind) if field.name not in _READER_FIELDS] + [*more.items()]
    return cast("type[TrainingEvent]", msgspec.defstruct(f"Measured{kind.__name__}", fields, bases=(TrainingEvent,), tag=tag, frozen=True))


KernelRan = _measured_event("kernel", Kernel, logical=str)
Trained = _measured_event("training", Training, logical=str, placement=Placement)
Agreed = _measured_event("agreement", Agreement, device=str, network=str)
Summed = _measured_event("sum", Sum)
MEASURED = {
    Speed: _measured_event("speed", Speed),
    Copy: _measured_event("copy", Copy),
    MemoryRate: _measured_event("memory", MemoryRate),
    Product: _measured_event("product", Product),
    CompiledStep: _measured_event("compiled", CompiledStep),
}
"""The event of each measurement of a device."""


class RankPart(TrainingEvent, tag="part", frozen=True):
    """What one rank of several machines saw of an all-reduce."""

    size: int
    seconds: Real
    errors: dict[str, Real]


class Mapped(TrainingEvent, tag="mapped", frozen=True):
    """The CUDA libraries in the process."""

    files: tuple[str, ...]


class TrainingDone(channel.Done, tag_field="event", tag="done", frozen=True):
    """No stage failed; the last event."""


class TrainingCrashed(channel.Crashed, tag_field="event", tag="crashed", frozen=True):
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
TRAINING = (Begin, Succeeded, Failed, Unsupported, Number, *RESULTS, Mapped, TrainingDone, TrainingCrashed)
ACROSS = (Begin, Succeeded, Failed, Unsupported, RankPart, TrainingDone, TrainingCrashed)
"""The events of an all-reduce between machines."""
