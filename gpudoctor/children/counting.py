"""The events of the script that counts what a user's model needs; gpudoctor/children/train/fit.py and NAME_fit.py describe each field."""

from __future__ import annotations

import msgspec

from gpudoctor.children.training import TrainingCrashed, TrainingDone


class CountedStep(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="counted", forbid_unknown_fields=True):
    """One training step with a batch."""

    batch: int
    framework: str
    version: str
    sample: str
    parameters: int
    trainable: int
    buffer_bytes: int
    input_bytes: int
    kept: int
    peak: int | None
    forward_flops: int
    flops: int
    kept_again: int
    """The same with checkpointing, where we can apply it; else as without."""
    peak_again: int | None
    flops_again: int
    moments: tuple[tuple[int, int], ...] = ()
    """In backward, the bytes still kept and the parameters that have gradients; empty: unknown."""
    largest_block: int = 0
    outside: int = 0
    """Parameters outside of blocks."""
    projections: tuple[tuple[int, int, bool], ...] = ()
    alive: int | None = None
    """The most that is alive at once in a forward pass without gradients, beside the cache; None: not traced."""
    cache: int = 0
    """Keys and values that generating text keeps."""
    moved: int = 0
    """The bytes that the operations of the forward pass read and write; 0: not traced."""
    assumed: tuple[str, ...] = ()
    """Where the step reads values of tensors, which a trace does not have: "model.py, line 12"."""


class Uncountable(msgspec.Struct, frozen=True, tag_field="event", tag="refused", forbid_unknown_fields=True):
    """Why the model cannot be counted: a clause that follows the builder's name."""

    reason: str


COUNTING = (CountedStep, Uncountable, TrainingDone, TrainingCrashed)
