"""Transformers by their Hugging Face config.json, as rows of layers. The file is foreign: its numbers are checked, none of its code is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
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
    "activation_function": "hidden_act",
    "hidden_activation": "hidden_act",
}
"""Fields that some families name otherwise."""
_FUNCTIONS = {"gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu_new", "swish": "silu", "quick_gelu": "silu"}
_Family = tuple[Callable[[Transformer], Rows], dict[str, Any]]
_LLAMA: _Family = (Transformer.decoder, {"hidden_act": "silu", "mlp_bias": False})
_BERT: _Family = (Transformer.encoder, {"max_position_embeddings": 512})
_FAMILIES: dict[str, _Family] = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "phi3": _LLAMA,
    "qwen2": (Transformer.decoder, {**_LLAMA[1], "attention_bias": True}),
    "qwen3": (Transformer.decoder, {**_LLAMA[1], "normed": True}),
    "gemma": (Transformer.decoder, {**_LLAMA[1], "tie_word_embeddings": True, "hidden_act": "gelu"}),
    "gpt2": (Transformer.older_decoder, {"max_position_embeddings": 1024, "tie_word_embeddings": True, "hidden_act": "gelu_new"}),
    "bert": _BERT,
    "roberta": _BERT,
    "vit": (Transformer.vision, {}),
}
"""By model_type, its layers and what its file need not state: https://huggingface.co/docs/transformers has the configurations."""


def of_config(name: str, fields: Mapping[str, Any], source: str = "its config.json") -> Network:
    """Return the network of a config.json. Raises UsageError if its kind is unknown or its numbers are wrong."""
    kind = str(fields.get("model_type", "no model_type"))
    if kind not in _FAMILIES:
        raise UsageError(
            f"{name} is of kind {kind[:40]!r}; known are {', '.join(_FAMILIES)}. Any other model: state params=N, or module:function."
        )
    rows, usual = _FAMILIES[kind]
    stated = {**usual, **{_NAMES.get(field, field): value for field, value in fields.items() if value is not None}}
    function = str(stated.get("hidden_act", "gelu"))
    if (known := _FUNCTIONS.get(function, function)) not in FUNCTIONS:
        raise UsageError(f"{name}: the function {function[:40]!r} is unknown; known are {', '.join(FUNCTIONS)}.")
    try:
        shape = converted({**stated, "hidden_act": known}, Transformer)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not describe a model: {str(error).replace(' - at `$.', ' for `')}.") from None
    if kind == "vit":
        return Network(rows(shape), (shape.channels, shape.side, shape.side), source, fixed=True)
    if not shape.entries:
        raise UsageError(f"{name} has no vocab_size.")
    return Network(rows(shape), (USUAL_TOKENS,), source, most=shape.places)
