"""Transformers by their Hugging Face config.json, as rows of layers. The file is foreign: its numbers are checked, none of its code is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from gpudoctor.errors import UncountedError, UsageError
from gpudoctor.fit.counted import Network
from gpudoctor.fit.layers import FUNCTIONS, Rows
from gpudoctor.fit.networks import Transformer
from gpudoctor.typed import converted

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
}
"""Fields that some families name otherwise."""
_FUNCTIONS = {"gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu_new", "swish": "silu", "quick_gelu": "silu"}


class _Family(NamedTuple):
    """How the models of a kind are built."""

    rows: Callable[[Transformer], Rows]
    usual: dict[str, Any]
    """What a file need not state."""
    counted: str = "ForCausalLM"
    """The end of the name of the class that is counted."""
    experts: bool = False


_LLAMA = _Family(Transformer.decoder, {"hidden_act": "silu", "mlp_bias": False})
_BERT = _Family(Transformer.encoder, {"max_position_embeddings": 512}, "Model")
_FAMILIES = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "phi3": _LLAMA,
    "qwen2": _Family(Transformer.decoder, {**_LLAMA.usual, "attention_bias": True}),
    "qwen3": _Family(Transformer.decoder, {**_LLAMA.usual, "normed": True}),
    "mixtral": _Family(Transformer.decoder, _LLAMA.usual, experts=True),
    "qwen2_moe": _Family(Transformer.decoder, {**_LLAMA.usual, "attention_bias": True}, experts=True),
    "qwen3_moe": _Family(Transformer.decoder, {**_LLAMA.usual, "normed": True}, experts=True),
    "gemma": _Family(Transformer.decoder, {**_LLAMA.usual, "tie_word_embeddings": True, "hidden_act": "gelu"}),
    "gpt2": _Family(
        Transformer.older_decoder, {"max_position_embeddings": 1024, "tie_word_embeddings": True, "hidden_act": "gelu_new"}, "LMHeadModel"
    ),
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "vit": _Family(Transformer.vision, {"num_labels": 2}, "ForImageClassification"),
}
"""By model_type: https://huggingface.co/docs/transformers has the configurations."""


def of_config(name: str, fields: Mapping[str, Any], source: str = "its config.json") -> Network:
    """Return the network of a config.json. Raises UncountedError if its kind has no formula, UsageError if its numbers are wrong."""
    kind = fields.get("model_type")
    if not kind or not isinstance(kind, str):
        raise UsageError(f"{name} states no model_type, so it is no config.json of transformers.")
    if reason := _refused(kind, fields):
        raise UncountedError(f"{name} {reason}")
    family = _FAMILIES[kind]
    stated = {**family.usual, **{_NAMES.get(field, field): value for field, value in fields.items() if value is not None}}
    if isinstance(labels := fields.get("id2label"), Mapping):
        stated["num_labels"] = len(labels)
    function = str(stated.get("hidden_act", "gelu"))
    if (known := _FUNCTIONS.get(function, function)) not in FUNCTIONS:
        raise UsageError(f"{name}: the function {function[:40]!r} is unknown; known are {', '.join(FUNCTIONS)}.")
    try:
        shape = converted({**stated, "hidden_act": known}, Transformer)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not describe a model: {str(error).replace(' - at `$.', ' for `')}.") from None
    assumed = tuple(_assumed(fields, family))
    if kind == "vit":
        return Network(family.rows(shape), (shape.channels, shape.side, shape.side), source, fixed=True, assumptions=assumed)
    if not shape.entries:
        raise UsageError(f"{name} has no vocab_size.")
    return Network(family.rows(shape), (USUAL_TOKENS,), source, most=shape.places, assumptions=assumed)


def _refused(kind: str, fields: Mapping[str, Any]) -> str:
    """Return why a model of this kind cannot be counted, a clause; "" if it can."""
    if kind not in _FAMILIES:
        return f"is of kind {kind[:40]!r}, which no formula counts"
    experts = [field[:40] for field, value in fields.items() if "experts" in field and value]
    if not _FAMILIES[kind].experts:
        return f"has experts ({experts[0]}), which no formula counts for {kind}" if experts else ""
    if fields.get("mlp_only_layers") or fields.get("decoder_sparse_step", 1) != 1:
        return "has experts in some of its layers only, which no formula counts"
    return "" if experts else "does not say how many experts it has"


def _assumed(fields: Mapping[str, Any], family: _Family) -> Iterator[str]:
    """Yield what a file states that is not counted."""
    named = fields.get("architectures")
    named = str(named[0])[:80] if isinstance(named, list) and named else ""
    if named and not named.endswith(family.counted):
        whole = named.partition("For")[0].removesuffix("Model") + family.counted
        yield f"{named} is counted as {whole}; what else it has, such as another output layer, is not."
    quantised = fields.get("quantization_config")
    if isinstance(quantised, Mapping):
        method = str(quantised.get("quant_method", "an unstated method"))[:40]
        yield f"Its config.json says that weights are quantised ({method}); without --weights 4bit they are counted as if they were not."
