"""Transformers as rows of layers, by the fields of Hugging Face configurations."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import get_data
from typing import Annotated, Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Network
from gpudoctor.fit.layers import FUNCTIONS, Row, Rows, conv, dropout, embedding, first, flatten, function, linear, norm, place
from gpudoctor.fit.structures import attention, block, called, context, experts, gated, loss, residual
from gpudoctor.typed import converted, from_json

USUAL_TOKENS = 2048
"""In a sequence, for models that take any number."""
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
    decoder_layers: _Size = 0
    decoder_attention_heads: _Size = 0
    decoder_ffn_dim: _Size = 0
    num_mel_bins: _Some = 80
    max_source_positions: _Some = 1500
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
    key_bias: bool = True
    """Whether keys have one too."""
    out_bias: bool = False
    normed: bool = False
    """Queries and keys are normalised."""
    fused: bool = False
    """One matmul makes both projections of a gated layer."""
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

    def decoder(self, *, crossed: bool = False) -> Rows:
        """Return a decoder: with rotated positions, RMSNorm and gated layers such as Llama, or with learned positions and LayerNorm such as GPT-2."""
        of = "layer" if self.older else "rms"
        start = embedding(self.vocab_size, self.hidden_size, self.max_position_embeddings * self.older)
        head = linear(self.vocab_size, bias=False, adapted=False, own=not self.tie_word_embeddings)
        return (start, *self._dropout, *self._blocks(of, cached=True, crossed=crossed), norm(of), head, loss())

    def encoder(self) -> Rows:
        """Return an encoder that normalises after each sum, with a pooler, such as BERT."""
        start = embedding(self.vocab_size, self.hidden_size, self.max_position_embeddings, self.type_vocab_size)
        pooler = (first(), linear(self.hidden_size, adapted=False), function("tanh"))
        return (start, norm("layer"), *self._dropout, *self._blocks("layer", before=False), *pooler, loss())

    def vision(self) -> Rows:
        """Return a classifier of images in patches, such as ViT."""
        patches = (conv(self.hidden_size, self.patch_size, self.patch_size), flatten(tokens=True), place())
        return (*patches, *self._dropout, *self._blocks("layer"), norm("layer"), first(), linear(self.num_labels, adapted=False), loss())

    def speech(self) -> Rows:
        """Return an encoder of sound, and a decoder that reads what it makes, such as Whisper."""
        curve = function(self.hidden_act)
        sound = (conv(self.hidden_size, 3, 1, 1), curve, conv(self.hidden_size, 3, 2, 1), curve, flatten(tokens=True), place(learned=False))
        listen = (*sound, *self._dropout, *self._blocks("layer"), norm("layer"))
        writer = msgspec.structs.replace(
            self,
            num_hidden_layers=self.decoder_layers,
            num_attention_heads=self.decoder_attention_heads,
            intermediate_size=self.decoder_ffn_dim,
        )
        return (context("sound", self.num_mel_bins, 2 * self.max_source_positions, listen), *writer.decoder(crossed=True))

    def _blocks(self, of: str, *, before: bool = True, cached: bool = False, crossed: bool = False) -> Rows:
        """Return the blocks, which normalise before or after each sum; RMSNorm goes with a gated feed-forward layer."""
        inner, bias = self.intermediate_size or 4 * self.hidden_size, self.mlp_bias
        attends = [
            attention(
                self.num_attention_heads,
                self.num_key_value_heads,
                self.head_dim,
                bias=self.attention_bias or self.qkv_bias,
                bias_keys=self.key_bias,
                bias_out=self.attention_bias or self.out_bias,
                cached=cached,
                normed=self.normed,
                crossed=over,
            )
            for over in (False, True)[: 1 + crossed]
        ]
        feed: Rows = (linear(inner, bias=bias), function(self.hidden_act), linear(self.hidden_size, bias=bias))
        if self.num_local_experts:
            sizes = self.num_local_experts, self.num_experts_per_tok, self.moe_intermediate_size or inner
            feed = (experts(*sizes, self.hidden_act, self.shared_expert_intermediate_size),)
        elif of == "rms":
            feed = (gated(inner, self.hidden_act, bias=bias, fused=self.fused),)
        sums: list[Row] = []
        for part in (*((attend,) for attend in attends), feed):
            whole = (*part, *self._dropout)
            sums += [residual((norm(of), called(whole)))] if before else [residual(whole), norm(of)]
        return (block(tuple(sums)),) * self.num_hidden_layers

    @property
    def _dropout(self) -> Rows:
        return (dropout(),) if self.hidden_dropout_prob else ()


class Family(msgspec.Struct, frozen=True):
    """How the models of a kind are built."""

    rows: str
    """The method of Transformer."""
    counts: str
    """The end of the name of the class that is counted."""
    usual: dict[str, Any]
    """The fields that the class reads and what it takes for those that a file does not state; null: what the others imply."""
    always: dict[str, Any]
    """What no file can change."""


class _Table(msgspec.Struct, frozen=True):
    families: dict[str, Family]
    """By model_type, as the configuration classes of transformers 5.24 have them: https://huggingface.co/docs/transformers."""
    presets: dict[str, dict[str, Any]]
    """Rows of networks, or published configurations, with their source, by the names of our presets."""
    parts: dict[str, list[Any]]
    """Rows that recur, after the names of their sizes."""


TABLE = from_json(get_data(__package__, "models.json") or b"", _Table)  # packaged as this module is


def transformer(name: str, kind: str, stated: Mapping[str, Any], source: str, assumptions: tuple[str, ...] = ()) -> Network:
    """Return the network of a model_type with the fields that are stated. Raises UsageError if they describe no model."""
    family = TABLE.families[kind]
    sizes = {**{field: stated.get(field, value) for field, value in family.usual.items()}, **family.always}
    if sizes["hidden_act"] not in FUNCTIONS:
        raise UsageError(f"{name}: the function {sizes['hidden_act'][:40]!r} is unknown; known are {', '.join(FUNCTIONS)}.")
    try:
        shape = converted({field: value for field, value in sizes.items() if value is not None}, Transformer)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not describe a model: {str(error).replace(' - at `$.', ' for `')}.") from None
    rows: Rows = getattr(shape, family.rows)()
    if kind == "vit":
        return Network(rows, (shape.num_channels, shape.image_size, shape.image_size), source, fixed=True, assumptions=assumptions)
    if not shape.vocab_size:
        raise UsageError(f"{name} has no vocab_size.")
    return Network(rows, (USUAL_TOKENS,), source, most=shape.max_position_embeddings, assumptions=assumptions)
