"""Transformers by their Hugging Face config.json. The file is foreign: its numbers are checked, none of its code is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.errors import UncountedError, UsageError
from gpudoctor.fit.counted_models import PresetNetwork
from gpudoctor.fit.presets import PRESET_TABLE, ModelFamily, network_of_transformer

_FIELD_BY_ALIAS = {
    "n_embd": "hidden_size",
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_positions": "max_position_embeddings",
    "num_experts": "num_local_experts",
    "activation_function": "hidden_act",
    "hidden_activation": "hidden_act",
    "resid_pdrop": "hidden_dropout_prob",
    "d_model": "hidden_size",
    "encoder_layers": "num_hidden_layers",
    "encoder_attention_heads": "num_attention_heads",
    "encoder_ffn_dim": "intermediate_size",
    "max_target_positions": "max_position_embeddings",
    "dropout": "hidden_dropout_prob",
}
"""Fields that some families name otherwise."""
_FUNCTION_BY_ALIAS = {"gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu_new", "swish": "silu", "quick_gelu": "silu"}


def network_of_configuration(name: str, fields: Mapping[str, Any]) -> PresetNetwork:
    """Return the network of a config.json. Raises UncountedError if its kind has no formula, UsageError if its numbers are wrong."""
    kind = fields.get("model_type")
    if not kind or not isinstance(kind, str):
        raise UsageError(f"{name} states no model_type, so it is no config.json of transformers.")
    if reason := _refusal_clause(kind, fields):
        raise UncountedError(f"{name} {reason}")
    others = {_FIELD_BY_ALIAS[field]: value for field, value in fields.items() if field in _FIELD_BY_ALIAS and value is not None}
    own = {field: value for field, value in fields.items() if field not in _FIELD_BY_ALIAS and (value is not None or field not in others)}
    stated = {**others, **own}
    if isinstance(labels := fields.get("id2label"), Mapping):
        stated["num_labels"] = len(labels)
    if "hidden_act" in stated:
        function = str(stated["hidden_act"])
        stated["hidden_act"] = _FUNCTION_BY_ALIAS.get(function, function)
    return network_of_transformer(name, kind, stated, "its config.json", tuple(_uncounted_notes(fields, PRESET_TABLE.families[kind])))


def _refusal_clause(kind: str, fields: Mapping[str, Any]) -> str:
    """Return why a model of this kind cannot be counted, a clause; "" if it can."""
    if kind not in PRESET_TABLE.families:
        return f"is of kind {kind[:40]!r}, which no formula counts"
    experts = next((field[:40] for field, value in fields.items() if "experts" in field and value), "")
    if experts and "num_local_experts" not in PRESET_TABLE.families[kind].usual:
        return f"has experts ({experts}), which no formula counts for {kind}"
    partly = fields.get("mlp_only_layers") or fields.get("decoder_sparse_step", 1) != 1
    return "has experts in some of its layers only, which no formula counts" if partly else ""


def _uncounted_notes(fields: Mapping[str, Any], family: ModelFamily) -> Iterator[str]:
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
