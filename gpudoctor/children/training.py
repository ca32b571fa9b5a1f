"""The events of the smoke-training script; gpudoctor/children/train/stages.py, measure.py and all_reduce.py describe each field."""

from __future__ import annotations

import msgspec

from gpudoctor.children import channel
from gpudoctor.snapshot import Real, StageKind


class Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", forbid_unknown_fields=True):
    """Base of the events; `device` is the physical one, "GPU:1", and `logical` the framework's name for it."""


class Begin(Said, tag="begin", frozen=True):
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


class Ended(Said, frozen=True, forbid_unknown_fields=False, kw_only=True):
    """A stage ended; further facts are for readers of the script's own output."""

    stage: StageKind
    seconds: float
    network: str = ""
    device: str = ""
    version: str | None = None
    """The framework's version, if already known."""
    devices: tuple[Device, ...] | None = None
    networks: tuple[str, ...] | None = None


class End(Ended, tag="end", frozen=True, kw_only=True):
    """The stage succeeded."""


class Failed(Ended, tag="failed", frozen=True, kw_only=True):
    """The framework raised."""

    error_type: str
    error: str


class Unsupported(Failed, tag="unsupported", frozen=True, kw_only=True):
    """This release cannot be trained with."""


class Number(Said, tag="number", frozen=True):
    """The progress of training: its mean loss."""

    name: str
    device: str
    network: str
    step: int
    steps: int
    value: Real


class KernelRan(Said, tag="kernel", frozen=True):
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


class Trained(Said, tag="training", frozen=True):
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


class Agreed(Said, tag="agreement", frozen=True):
    """The first steps compared with the CPU's."""

    device: str
    network: str
    reference: str
    steps: int
    max_loss_difference: Real
    loss_tolerance: float
    max_weight_difference: Real
    weight_tolerance: float


class Raced(Said, tag="speed", frozen=True):
    """Images a second on a GPU and on the CPU."""

    device: str
    network: str
    batch: int
    samples_per_second: Real
    cpu_samples_per_second: Real


class Copied(Said, tag="copy", frozen=True):
    """A copy to or from a device."""

    device: str
    direction: str
    pinned: bool
    size: int
    bytes_per_second: Real


class Doubled(Said, tag="memory", frozen=True):
    """A device's own memory, read and written."""

    device: str
    size: int
    bytes_per_second: Real


class Multiplied(Said, tag="product", frozen=True):
    """A large matmul in one precision."""

    device: str
    precision: str
    size: int
    flops: Real
    error: Real
    tolerance: float


class Compiled(Said, tag="compiled", frozen=True):
    """A step compiled by the framework's compiler."""

    device: str
    compiler: str
    seconds: Real
    step_seconds: Real
    loss_difference: Real
    loss_tolerance: float


class Summed(Said, tag="sum", frozen=True):
    """An all-reduce of one size."""

    over: tuple[str, ...]
    size: int
    repetitions: int
    seconds: Real
    bus_bytes_per_second: Real
    error: Real
    wrong: tuple[str, ...]


class Part(Said, tag="part", frozen=True):
    """What one rank of several machines saw of an all-reduce."""

    size: int
    seconds: Real
    errors: dict[str, Real]


class Mapped(Said, tag="mapped", frozen=True):
    """The CUDA libraries in the process."""

    files: tuple[str, ...]


class Done(channel.Done, tag_field="event", tag="done", frozen=True):
    """No stage failed; the last event."""


class Crashed(channel.Crashed, tag_field="event", tag="crashed", frozen=True):
    """Our script crashed outside the stages."""


RESULTS: dict[type[Said], StageKind] = {
    KernelRan: StageKind.KERNEL,
    Trained: StageKind.TRAINING,
    Agreed: StageKind.AGREEMENT,
    Raced: StageKind.SPEED,
    Copied: StageKind.COPIES,
    Doubled: StageKind.MEMORY,
    Multiplied: StageKind.PRODUCTS,
    Compiled: StageKind.COMPILED_STEP,
    Summed: StageKind.ALL_REDUCE,
}
"""The event that a stage must send to show anything."""
TRAINING = (Begin, End, Failed, Unsupported, Number, *RESULTS, Mapped, Done, Crashed)
ACROSS = (Begin, End, Failed, Unsupported, Part, Done, Crashed)
"""The events of an all-reduce between machines."""
