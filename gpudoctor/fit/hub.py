"""Transformers by their Hugging Face config.json, as rows of layers. The file is foreign: its numbers are checked, none of its code is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pkgutil import get_data
from typing import Any

import msgspec

from gpudoctor.errors import UncountedError, UsageError
from gpudoctor.fit.counted import Network
from gpudoctor.fit.layers import FUNCTIONS, Rows
from gpudoctor.fit.networks import Transformer
from gpudoctor.typed import converted, from_json

USUAL_TOKENS = 2048
"""In a sequence, for models that take any number."""
_NAMES = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "num_experts": "num_local_experts",
    "activation_function": "hidden_act",
    "hidden_activation": "hidden_act",
    "resid_pdrop": "hidden_dropout_prob",
}
"""Fields that some families name otherwise."""
_FUNCTIONS = {"gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu_new", "swish": "silu", "quick_gelu": "silu"}


class _Family(msgspec.Struct, frozen=True):
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
    families: dict[str, _Family]
    """By model_type, as the configuration classes of transformers 5.24 have them: https://huggingface.co/docs/transformers."""
    presets: dict[str, dict[str, Any]]
    """Published configurations by the names of our presets, with their source."""


TABLE = from_json(get_data(__package__, "models.json") or b"", _Table)  # packaged as this module is


def of_config(name: str, fields: Mapping[str, Any], source: str = "its config.json") -> Network:
    """Return the network of a config.json. Raises UncountedError if its kind has no formula, UsageError if its numbers are wrong."""
    kind = fields.get("model_type")
    if not kind or not isinstance(kind, str):
        raise UsageError(f"{name} states no model_type, so it is no config.json of transformers.")
    if reason := _refused(kind, fields):
        raise UncountedError(f"{name} {reason}")
    family = TABLE.families[kind]
    stated = {_NAMES.get(field, field): value for field, value in fields.items()}
    if isinstance(labels := fields.get("id2label"), Mapping):
        stated["num_labels"] = len(labels)
    sizes = {**{field: stated.get(field, value) for field, value in family.usual.items()}, **family.always}
    function = str(sizes["hidden_act"])
    sizes["hidden_act"] = _FUNCTIONS.get(function, function)
    if sizes["hidden_act"] not in FUNCTIONS:
        raise UsageError(f"{name}: the function {function[:40]!r} is unknown; known are {', '.join(FUNCTIONS)}.")
    try:
        shape = converted({field: value for field, value in sizes.items() if value is not None}, Transformer)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not describe a model: {str(error).replace(' - at `$.', ' for `')}.") from None
    rows: Rows = getattr(shape, family.rows)()
    assumed = tuple(_assumed(fields, family))
    if kind == "vit":
        return Network(rows, (shape.num_channels, shape.image_size, shape.image_size), source, fixed=True, assumptions=assumed)
    if not shape.vocab_size:
        raise UsageError(f"{name} has no vocab_size.")
    return Network(rows, (USUAL_TOKENS,), source, most=shape.max_position_embeddings, assumptions=assumed)


def _refused(kind: str, fields: Mapping[str, Any]) -> str:
    """Return why a model of this kind cannot be counted, a clause; "" if it can."""
    if kind not in TABLE.families:
        return f"is of kind {kind[:40]!r}, which no formula counts"
    experts = next((field[:40] for field, value in fields.items() if "experts" in field and value), "")
    if experts and "num_local_experts" not in TABLE.families[kind].usual:
        return f"has experts ({experts}), which no formula counts for {kind}"
    partly = fields.get("mlp_only_layers") or fields.get("decoder_sparse_step", 1) != 1
    return "has experts in some of its layers only, which no formula counts" if partly else ""


def _assumed(fields: Mapping[str, Any], family: _Family) -> Iterator[str]:
    """Yield what a file states that is not counted."""
    named = fields.get("architectures")
    named = str(named[0])[:80] if isinstance(named, list) and named else ""
    if named and not named.endswith(family.counts):
        whole = named.partition("For")[0].removesuffix("Model") + family.counts
        yield f"{named} is counted as {whole}; what else it has, such as another output layer, is not."
    quantised = fields.get("quantization_config")
    if isinstance(quantised, Mapping):
        method = str(quantised.get("quant_method", "an unstated method"))[:40]
        yield f"Its config.json says that weights are quantised ({method}); without --weights 4bit they are counted as if they were not."
