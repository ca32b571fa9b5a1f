"""Networks as rows of layers: the families that presets and configurations of Hugging Face models are made of."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.fit.layers import Conv, Embedding, First, Flatten, Function, Image, Linear, Norm, Place, Pool, PoolTo, Row, Rows, Upsample
from gpudoctor.fit.structures import Attention, Block, Concat, Experts, Gated, Loss, Residual, Shift, Time

RELU = Function("relu")
MOST_LAYERS = 4096
"""More are not believed: each is counted."""
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]
_Some = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]


class Transformer(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of a transformer over tokens or patches, with the names of Hugging Face configurations."""

    layers: Annotated[int, msgspec.Meta(ge=1, le=MOST_LAYERS)] = msgspec.field(name="num_hidden_layers")
    width: _Size = msgspec.field(name="hidden_size")
    heads: Annotated[int, msgspec.Meta(ge=1)] = msgspec.field(name="num_attention_heads")
    inner: _Size = msgspec.field(name="intermediate_size", default=0)
    """The width inside of the feed-forward layers; 0: four times the width."""
    of_keys: _Size = msgspec.field(name="num_key_value_heads", default=0)
    size: _Size = msgspec.field(name="head_dim", default=0)
    """Of a head; 0: the width divided by the heads."""
    entries: _Size = msgspec.field(name="vocab_size", default=0)
    """Of the vocabulary."""
    segments: _Size = msgspec.field(name="type_vocab_size", default=2)
    """Kinds of tokens that an encoder tells apart."""
    channels: _Some = msgspec.field(name="num_channels", default=3)
    """Of an image."""
    side: _Some = msgspec.field(name="image_size", default=224)
    patch: _Some = msgspec.field(name="patch_size", default=16)
    """The side of a patch of an image."""
    classes: _Some = msgspec.field(name="num_labels", default=2)
    places: _Size = msgspec.field(name="max_position_embeddings", default=0)
    """The most tokens, where each place has a learned vector; 0: positions are rotated."""
    tied: bool = msgspec.field(name="tie_word_embeddings", default=False)
    """Whether the output layer has the weights of the embedding."""
    function: str = msgspec.field(name="hidden_act", default="gelu")
    bias: bool = msgspec.field(name="mlp_bias", default=True)
    bias_of_queries: bool = msgspec.field(name="attention_bias", default=False)
    """Queries, keys and values have a bias although nothing else has."""
    normed: bool = False
    """Queries and keys are normalised."""
    experts: _Size = msgspec.field(name="num_local_experts", default=0)
    """In each block; 0: there are none."""
    chosen: _Some = msgspec.field(name="num_experts_per_tok", default=2)
    of_experts: _Size = msgspec.field(name="moe_intermediate_size", default=0)
    """The width inside of an expert; 0: that of feed-forward layers."""
    shared: _Size = msgspec.field(name="shared_expert_intermediate_size", default=0)
    """The width inside of an expert that all tokens go through; 0: there is none."""

    def __post_init__(self) -> None:
        """Raise ValueError for a shape that no model has."""
        if self.heads % (self.of_keys or 1) or (not self.size and self.width % self.heads) or self.heads > self.width:
            raise ValueError(f"{self.heads} heads, {self.of_keys or self.heads} of keys, in a width of {self.width}")

    def decoder(self) -> Rows:
        """Return a decoder with rotated positions, RMSNorm and a gated feed-forward layer, such as Llama."""
        return (Embedding(self.entries, self.width), *self._blocks("rms", cached=True), *self._head("rms"))

    def older_decoder(self) -> Rows:
        """Return a decoder with learned positions and LayerNorm, such as GPT-2."""
        return (Embedding(self.entries, self.width, self.places), *self._blocks("layer", cached=True), *self._head("layer"))

    def encoder(self) -> Rows:
        """Return an encoder that normalises after each sum, with a pooler, such as BERT."""
        embedding = Embedding(self.entries, self.width, self.places, self.segments)
        pooler = (First(), Linear(self.width, adapted=False), Function("tanh"))
        return (embedding, Norm("layer"), *self._blocks("layer", first=False), *pooler, Loss())

    def vision(self) -> Rows:
        """Return a classifier of images in patches, such as ViT."""
        patches = (Conv(self.width, self.patch, self.patch), Flatten(tokens=True), Place())
        return (*patches, *self._blocks("layer"), Norm("layer"), First(), Linear(self.classes, adapted=False), Loss())

    def _blocks(self, norm: str, *, first: bool = True, cached: bool = False) -> Rows:
        """Return the blocks, which normalise before or after each sum; RMSNorm goes with a gated feed-forward layer."""
        inner, queries = self.inner or 4 * self.width, self.bias or self.bias_of_queries
        attend = Attention(self.heads, self.of_keys, self.size, bias=queries, bias_out=self.bias, cached=cached, normed=self.normed)
        feed: Rows = (Linear(inner), Function(self.function), Linear(self.width))
        feed = (Gated(inner, self.function, bias=self.bias),) if norm == "rms" else feed
        if self.experts:
            feed = (Experts(self.experts, self.chosen, self.of_experts or inner, self.function, self.shared),)
        sums: list[Rows] = [(Residual((Norm(norm), *part)),) if first else (Residual(part), Norm(norm)) for part in ((attend,), feed)]
        return (Block((*sums[0], *sums[1])),) * self.layers

    def _head(self, norm: str) -> Rows:
        return (Norm(norm), Linear(self.entries, bias=False, adapted=False, own=not self.tied), Loss())


def dense(*widths: int) -> Rows:
    """Return dense layers with ReLU between them."""
    hidden = [row for width in widths[:-1] for row in (Linear(width, adapted=False), RELU)]
    return (Flatten(), *hidden, Linear(widths[-1], adapted=False), Loss())


def vgg(*stages: tuple[int, int]) -> Rows:
    """Return VGG: stages of 3x3 convolutions, each given by their number and width."""
    convolutions = [Block((*(Conv(width, 3, padding=1), RELU) * count, Pool(2, 2))) for count, width in stages]
    return (*convolutions, PoolTo(7), *dense(4096, 4096, 1000))


def resnet(*stages: tuple[int, int]) -> Rows:
    """Return a ResNet of bottleneck blocks: stages, each given by its number of blocks and its width."""
    rows: list[Row] = [*_conv(64, 7, 2, 3), RELU, Pool(3, 2, 1)]
    for stage, (count, width) in enumerate(stages):
        for place in range(count):
            stride = 2 if stage and not place else 1
            body = (*_conv(width, 1), RELU, *_conv(width, 3, stride, 1), RELU, *_conv(4 * width, 1))
            rows.append(Block((Residual(body, () if place else _conv(4 * width, 1, stride)), RELU)))
    return (*rows, PoolTo(1), Flatten(), Linear(1000, adapted=False), Loss())


def _conv(width: int, kernel: int, stride: int = 1, padding: int = 0) -> Rows:
    return (Conv(width, kernel, stride, padding, bias=False), Norm("batch"))


def unet(*widths: int, classes: int) -> Rows:
    """Return the U-Net for segmentation, by the widths of its levels."""
    rows = _twice(widths[-1])
    for width in reversed(widths[:-1]):
        rows = (*_twice(width), Concat((Pool(2, 2), *rows, Conv(width, 2, 2, transposed=True))), *_twice(width))
    return (*rows, Conv(classes, 1), Loss(squares=True))


def _twice(width: int) -> Rows:
    return (Block((*_conv(width, 3, padding=1), RELU) * 2),)


def diffusion(widths: tuple[int, ...], heads: int, context: tuple[int, int]) -> Rows:
    """Return the denoising U-Net of a latent diffusion model, with attention to the text on all levels but the last."""
    deepest = len(widths) - 1

    def level(number: int) -> Rows:
        body = (*_normed(), Conv(widths[number], 3, padding=1), Shift(4 * widths[0]), *_normed(), Conv(widths[number], 3, padding=1))
        text = (_text(widths[number], heads, context),) if number < deepest else ()
        return (Block((Residual(body, matched=True),)), *text)

    residual = level(deepest)
    rows: Rows = (*residual, _text(widths[deepest], heads, context), *residual)
    for skip in range(3 * len(widths) - 1, -1, -1):  # two for each level, and one where its images were made
        number, place = divmod(skip, 3)
        down = level(number) if place else (Conv(widths[max(number - 1, 0)], 3, 2 if number else 1, 1),)
        up = () if place or not number else (Upsample(), Conv(widths[number], 3, padding=1))
        rows = (*down, Concat(rows), *level(number), *up)
    return (Time(widths[0], 4 * widths[0]), *rows, *_normed(), Conv(4, 3, padding=1), Loss(squares=True))


def _normed() -> Rows:
    return (Norm("group", 32), Function("silu"))


def _text(width: int, heads: int, context: tuple[int, int]) -> Block:
    attend = (
        Residual((Norm("layer"), Attention(heads, bias=False, bias_out=True))),
        Residual((Norm("layer"), Attention(heads, bias=False, bias_out=True, context=context))),
        Residual((Norm("layer"), Gated(4 * width, "gelu", bias=True))),
    )
    return Block((Residual((Norm("group", 32), Conv(width, 1), Flatten(tokens=True), *attend, Image(), Conv(width, 1))),))
