"""What is known of a model whose layers are known: its rows, counted."""

from __future__ import annotations

from math import prod

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.layers import Rows, add_layers
from gpudoctor.fit.model import Model, grouped_projections
from gpudoctor.fit.tally import FULL_BYTES, HALF_BYTES, INDEX_BYTES, LayerTally

_MAX_TOKENS, _MAX_SIDE = 10**8, 1 << 17
"""More are not believed."""
_COLOUR_CHANNELS = 3
"""Channels of an image at most; what an encoder makes of one has more."""


class SampleSize(msgspec.Struct, frozen=True):
    """The size of a sample that the user stated; None: the model's usual one."""

    tokens: int | None = None
    image: tuple[int, int] | None = None
    """Height and width."""

    def shape(self, usual: tuple[int, ...], name: str, *, fixed: bool = False, most: int = 0) -> tuple[int, ...]:
        """Return the shape of a sample for a model that usually takes another. Raises UsageError if it takes none of this size."""
        if self.tokens is not None and not 1 <= self.tokens <= _MAX_TOKENS:
            raise UsageError(f"--seq {self.tokens:,} is out of range; it takes 1 to {_MAX_TOKENS:,}.")
        if self.image and not all(1 <= side <= _MAX_SIDE for side in self.image):
            raise UsageError(f"--image {self.image[0]}x{self.image[1]} is out of range; a side has 1 to {_MAX_SIDE:,} pixels.")
        if len(usual) == 1:
            if self.image:
                raise UsageError(f"{name} takes tokens, not images; state how many with --seq.")
            if most and (self.tokens or 0) > most:
                raise UsageError(f"{name} takes at most {most} tokens; --seq {self.tokens} is too long.")
            return (self.tokens or min(usual[0], most or usual[0]),)
        if self.tokens:
            raise UsageError(f"{name} takes images, not tokens; state their size with --image HxW.")
        if fixed and self.image not in {None, usual[1:]}:
            what = "images" if usual[0] <= _COLOUR_CHANNELS else "latents"
            raise UsageError(f"{name} takes {what} of {usual[1]}x{usual[2]} only; leave out --image.")
        return (usual[0], *(self.image or usual[1:]))


USUAL_SAMPLE = SampleSize()
_COUNTED_FIELDS = (
    "parameters",
    "buffers",
    "largest_block",
    "looked_up",
    "forward_flops",
    "step_flops",
    "block_flops",
    "scores",
    "cache_elements",
)
"""Fields of a model that a tally counts under the same name."""


class PresetNetwork(msgspec.Struct, frozen=True):
    """Layers in a row, the sample that they usually take, and where their shape is published."""

    rows: Rows
    sample: tuple[int, ...]
    """Channels, height and width of an image, or how many tokens."""
    source: str = ""
    fixed: bool = False
    """Whether it takes samples of this size only."""
    most: int = 0
    """The most tokens; 0: any number."""
    assumptions: tuple[str, ...] = ()

    def model(self, name: str, sample: SampleSize = USUAL_SAMPLE) -> Model:
        """Return what is known of it for samples of this size. Raises UsageError if it takes none of this size."""
        shape = sample.shape(self.sample, name, fixed=self.fixed, most=self.most)
        tally, half, fp8 = tallies = LayerTally(FULL_BYTES), LayerTally(HALF_BYTES), LayerTally(HALF_BYTES, fp8=True)
        for one in tallies:
            add_layers(self.rows, one, one.hold(one.input_tensor(shape)))
        own = f"{shape[0]} tokens" if len(shape) == 1 else f"image {'x'.join(map(str, shape))}"
        return Model(
            name=name,
            sample=", ".join([f"{name} {height}x{width}" for name, (height, width) in tally.beside.items()] + [own]),
            **{count: getattr(tally, count) for count in _COUNTED_FIELDS},
            trainable=tally.parameters - tally.frozen,
            projections=grouped_projections(tally.matrices),
            outside=tally.parameters - tally.in_blocks,
            sample_bytes=(INDEX_BYTES if len(shape) == 1 else FULL_BYTES) * prod(shape)
            + FULL_BYTES * sum(map(prod, tally.beside.values())),
            full=tally.activations,
            half=half.activations,
            fp8=fp8.activations,
            backward=tally.moments,
            source=self.source,
            assumptions=self.assumptions,
        )
