"""Networks as rows of layers: the families that presets and configurations of Hugging Face models are made of."""

from __future__ import annotations

from typing import Annotated

import msgspec

from gpudoctor.fit.layers import (
    Row,
    Rows,
    conv,
    dropout,
    embedding,
    first,
    flatten,
    function,
    image,
    linear,
    norm,
    place,
    pool,
    poolto,
    upsample,
)
from gpudoctor.fit.structures import attention, block, concat, experts, gated, loss, residual, shift, time

RELU = function("relu")
MOST_LAYERS = 4096
"""More are not believed: each is counted."""
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]
_Some = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]


class Transformer(msgspec.Struct, frozen=True, kw_only=True):
    """The shape of a transformer over tokens or patches, by the fields of Hugging Face configurations; 0: it has none, or as the others imply."""

    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=MOST_LAYERS)]
    hidden_size: _Size
    num_attention_heads: _Some
    num_key_value_heads: _Size = 0
    head_dim: _Size = 0
    intermediate_size: _Size = 0
    vocab_size: _Size = 0
    max_position_embeddings: _Size = 0
    type_vocab_size: _Size = 0
    num_channels: _Some = 3
    image_size: _Some = 224
    patch_size: _Some = 16
    num_labels: _Some = 2
    tie_word_embeddings: bool = False
    hidden_act: str = "gelu"
    hidden_dropout_prob: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0
    mlp_bias: bool = False
    attention_bias: bool = False
    """Of queries, keys, values and the output."""
    qkv_bias: bool = False
    out_bias: bool = False
    normed: bool = False
    """Queries and keys are normalised."""
    older: bool = False
    """A decoder is built as GPT-2."""
    num_local_experts: _Size = 0
    num_experts_per_tok: _Some = 2
    moe_intermediate_size: _Size = 0
    shared_expert_intermediate_size: _Size = 0

    def __post_init__(self) -> None:
        """Raise ValueError for a shape that no model has."""
        heads, of_keys, width = self.num_attention_heads, self.num_key_value_heads or self.num_attention_heads, self.hidden_size
        if heads % of_keys or (not self.head_dim and width % heads) or heads > width:
            raise ValueError(f"{heads} heads, {of_keys} of keys, in a width of {width}")

    def decoder(self) -> Rows:
        """Return a decoder: with rotated positions, RMSNorm and gated layers such as Llama, or with learned positions and LayerNorm such as GPT-2."""
        of = "layer" if self.older else "rms"
        start = embedding(self.vocab_size, self.hidden_size, self.max_position_embeddings * self.older)
        head = linear(self.vocab_size, bias=False, adapted=False, own=not self.tie_word_embeddings)
        return (start, *self._dropout, *self._blocks(of, cached=True), norm(of), head, loss())

    def encoder(self) -> Rows:
        """Return an encoder that normalises after each sum, with a pooler, such as BERT."""
        start = embedding(self.vocab_size, self.hidden_size, self.max_position_embeddings, self.type_vocab_size)
        pooler = (first(), linear(self.hidden_size, adapted=False), function("tanh"))
        return (start, norm("layer"), *self._dropout, *self._blocks("layer", before=False), *pooler, loss())

    def vision(self) -> Rows:
        """Return a classifier of images in patches, such as ViT."""
        patches = (conv(self.hidden_size, self.patch_size, self.patch_size), flatten(tokens=True), place())
        return (*patches, *self._dropout, *self._blocks("layer"), norm("layer"), first(), linear(self.num_labels, adapted=False), loss())

    def _blocks(self, of: str, *, before: bool = True, cached: bool = False) -> Rows:
        """Return the blocks, which normalise before or after each sum; RMSNorm goes with a gated feed-forward layer."""
        inner, bias = self.intermediate_size or 4 * self.hidden_size, self.mlp_bias
        attend = attention(
            self.num_attention_heads,
            self.num_key_value_heads,
            self.head_dim,
            bias=self.attention_bias or self.qkv_bias,
            bias_out=self.attention_bias or self.out_bias,
            cached=cached,
            normed=self.normed,
        )
        feed: Rows = (linear(inner, bias=bias), function(self.hidden_act), linear(self.hidden_size, bias=bias))
        if self.num_local_experts:
            sizes = self.num_local_experts, self.num_experts_per_tok, self.moe_intermediate_size or inner
            feed = (experts(*sizes, self.hidden_act, self.shared_expert_intermediate_size),)
        elif of == "rms":
            feed = (gated(inner, self.hidden_act, bias=bias),)
        parts = ((attend, *self._dropout), (*feed, *self._dropout))
        sums = [(residual((norm(of), *part)),) if before else (residual(part), norm(of)) for part in parts]
        return (block((*sums[0], *sums[1])),) * self.num_hidden_layers

    @property
    def _dropout(self) -> Rows:
        return (dropout(),) if self.hidden_dropout_prob else ()


def dense(*widths: int) -> Rows:
    """Return dense layers with ReLU between them."""
    hidden = [row for width in widths[:-1] for row in (linear(width, adapted=False), RELU)]
    return (flatten(), *hidden, linear(widths[-1], adapted=False), loss())


def lenet() -> Rows:
    """Return LeNet-5 with ReLU and maxima."""
    return (conv(6, 5, padding=2), RELU, pool(2, 2), conv(16, 5), RELU, pool(2, 2), *dense(120, 84, 10))


def alexnet() -> Rows:
    """Return AlexNet for one GPU."""
    early = (conv(64, 11, 4, 2), RELU, pool(3, 2), conv(192, 5, padding=2), RELU, pool(3, 2))
    late = [row for width in (384, 256, 256) for row in (conv(width, 3, padding=1), RELU)]
    return (*early, *late, pool(3, 2), poolto(6), *dense(4096, 4096, 1000))


def vgg(*stages: tuple[int, int]) -> Rows:
    """Return VGG: stages of 3x3 convolutions, each given by their number and width."""
    convolutions = [block((*(conv(width, 3, padding=1), RELU) * count, pool(2, 2))) for count, width in stages]
    return (*convolutions, poolto(7), *dense(4096, 4096, 1000))


def resnet(*stages: tuple[int, int]) -> Rows:
    """Return a ResNet of bottleneck blocks: stages, each given by its number of blocks and its width."""
    rows: list[Row] = [*_conv(64, 7, 2, 3), RELU, pool(3, 2, 1)]
    for stage, (count, width) in enumerate(stages):
        for number in range(count):
            stride = 2 if stage and not number else 1
            body = (*_conv(width, 1), RELU, *_conv(width, 3, stride, 1), RELU, *_conv(4 * width, 1))
            rows.append(block((residual(body, () if number else _conv(4 * width, 1, stride)), RELU)))
    return (*rows, poolto(1), flatten(), linear(1000, adapted=False), loss())


def _conv(width: int, kernel: int, stride: int = 1, padding: int = 0) -> Rows:
    return (conv(width, kernel, stride, padding, bias=False), norm("batch"))


def unet(*widths: int, classes: int) -> Rows:
    """Return the U-Net for segmentation, by the widths of its levels."""
    rows = _twice(widths[-1])
    for width in reversed(widths[:-1]):
        rows = (*_twice(width), concat((pool(2, 2), *rows, conv(width, 2, 2, transposed=True))), *_twice(width))
    return (*rows, conv(classes, 1), loss(squares=True))


def _twice(width: int) -> Rows:
    return (block((*_conv(width, 3, padding=1), RELU) * 2),)


def diffusion(widths: tuple[int, ...], heads: int, context: tuple[int, int]) -> Rows:
    """Return the denoising U-Net of a latent diffusion model, with attention to the text on all levels but the last."""
    normed, deepest = (norm("group", 32), function("silu")), len(widths) - 1

    def text(width: int) -> Row:
        attend = (
            residual((norm("layer"), attention(heads, bias=False))),
            residual((norm("layer"), attention(heads, bias=False, context=context))),
            residual((norm("layer"), gated(4 * width, "gelu", bias=True))),
        )
        return block((residual((norm("group", 32), conv(width, 1), flatten(tokens=True), *attend, image(), conv(width, 1))),))

    def level(number: int) -> Rows:
        width = widths[number]
        body = (*normed, conv(width, 3, padding=1), shift(4 * widths[0]), *normed, conv(width, 3, padding=1))
        return (block((residual(body, matched=True),)), *(text(width),) * (number < deepest))

    rows: Rows = (*level(deepest), text(widths[deepest]), *level(deepest))
    for skip in range(3 * len(widths) - 1, -1, -1):  # two for each level, and one where its images were made
        number, part = divmod(skip, 3)
        down = level(number) if part else (conv(widths[max(number - 1, 0)], 3, 2 if number else 1, 1),)
        up = () if part or not number else (upsample(), conv(widths[number], 3, padding=1))
        rows = (*down, concat(rows), *level(number), *up)
    return (time(widths[0], 4 * widths[0]), *rows, *normed, conv(4, 3, padding=1), loss(squares=True))
