"""The models that can be named or stated, made of the rows in models.json: presets, transformers by their configuration, and "params=7e9"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pkgutil import get_data
from typing import Annotated, Any

import msgspec

from gpudoctor.amounts import parse_count
from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import USUAL_SAMPLE, PresetNetwork, SampleSize
from gpudoctor.fit.layers import KEPT_BY_FUNCTION, Rows
from gpudoctor.fit.model import Model
from gpudoctor.suggestions import suggestion
from gpudoctor.typed_values import convert_value, from_json

USUAL_TOKENS = 2048
"""In a sequence, for models that take any number."""
MAX_LAYERS = 4096
"""More are not believed: each is counted."""
_IMPLIED_FIELDS = (
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
    "shared_expert_intermediate_size",
)
"""Fields that may be null or 0: the model has none, or as the others imply."""
_MAX_FIELD = 1 << 24
_FIELD_TYPES: Mapping[type, Any] = {
    bool: bool | None,
    str: str,
    float: Annotated[float, msgspec.Meta(ge=0, le=1)] | None,
    int: Annotated[int, msgspec.Meta(ge=1, le=_MAX_FIELD)],
}
"""What a field holds, by what it usually does."""
_USUAL_HEAD = 128
_USUAL_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_MAX_RATIO = 1.5
"""How many times as many parameters a stated shape may have as are stated, since its vocabulary is not."""
_STATED_FIELDS = ("params", "layers", "width")


class ModelFamily(msgspec.Struct, frozen=True):
    """How the models of a model_type are built."""

    rows: list[list[Any]]
    counts: str
    """The end of the name of the class that is counted."""
    usual: dict[str, Any]
    """The fields that the class reads and what it takes for those that a file does not state."""
    sample: tuple[Any, ...] = (USUAL_TOKENS,)
    fixed: bool = False


class _PresetTable(msgspec.Struct, frozen=True):
    families: dict[str, ModelFamily]
    """By model_type, as the configuration classes of transformers 5.24 have them: https://huggingface.co/docs/transformers."""
    presets: dict[str, dict[str, Any]]
    """Rows of networks, or published configurations, with their source, by the names of our presets."""
    parts: dict[str, list[list[Any]]]
    """Rows that recur, after the names of their sizes."""


PRESET_TABLE = from_json(get_data(__package__, "models.json") or b"", _PresetTable)  # packaged as this module is
PRESETS = PRESET_TABLE.presets


def model_of_name(name: str, sample: SampleSize = USUAL_SAMPLE) -> Model:
    """Return what is known of a preset, or of "params=7e9", for samples of this size. Raises UsageError for what is neither, or does not fit."""
    if "params=" in name.lower():
        return _model_of_parameters(name, sample)
    published = f"/{re.sub('(?i)-(instruct|chat)', '', name)}/blob/main/config.json".casefold()  # tuning leaves the shape
    of_source = (key for key, fields in PRESETS.items() if fields["source"].casefold().endswith(published))
    wanted = next(of_source, name.casefold())
    if wanted not in PRESETS:
        size = re.search(r"(?i)(?<![\w.])\d+(?:\.\d+)?[bm]\b", name)
        otherwise = f"download its config.json and name that, or state its size: params={size[0].upper() if size else '7B'}. Presets are {', '.join(PRESETS)}."
        raise UsageError(f"There is no model {name!r}; {suggestion(name, PRESETS, otherwise)}")
    return network_of_preset(wanted).model(wanted, sample)


def network_of_preset(name: str) -> PresetNetwork:
    """Return the layers of a preset."""
    fields = PRESETS[name]
    if "rows" in fields:
        return PresetNetwork(expanded_rows(fields["rows"], {}), tuple(fields["sample"]), fields["source"], fixed=fields.get("fixed", False))
    return network_of_transformer(name, fields["model_type"], fields, fields["source"])


def network_of_transformer(
    name: str, kind: str, stated: Mapping[str, Any], source: str, assumptions: tuple[str, ...] = ()
) -> PresetNetwork:
    """Return the network of a model_type with the fields that are stated. Raises UsageError if they describe no model."""
    family = PRESET_TABLE.families[kind]
    sizes = {field: _checked_field(name, field, stated.get(field, usual), usual) for field, usual in family.usual.items()}
    if sizes["hidden_act"] not in KEPT_BY_FUNCTION:
        raise UsageError(f"{name}: the function {sizes['hidden_act'][:40]!r} is unknown; known are {', '.join(KEPT_BY_FUNCTION)}.")
    width = sizes["hidden_size"]
    for heads in (sizes["num_attention_heads"], sizes.get("decoder_attention_heads", sizes["num_attention_heads"])):
        of_keys = sizes.get("num_key_value_heads") or heads
        if heads % of_keys or (not sizes.get("head_dim") and width % heads) or heads > width:
            raise UsageError(f"{name} does not describe a model: {heads} heads, {of_keys} of keys, in a width of {width}.")
    sizes["intermediate_size"] = sizes["intermediate_size"] or 4 * width
    sample = tuple(_expanded_value(one, sizes) for one in family.sample)
    most = sizes.get("max_position_embeddings", 0)
    return PresetNetwork(expanded_rows(family.rows, sizes), sample, source, fixed=family.fixed, most=most, assumptions=assumptions)


def _checked_field(name: str, field: str, value: object, usual: object) -> Any:
    """Return the value of a field, 0 for null. Raises UsageError if no model has it."""
    if field in _IMPLIED_FIELDS:
        kind: Any = Annotated[int, msgspec.Meta(ge=0, le=_MAX_FIELD)] | None
    elif field.endswith("_layers"):
        kind = Annotated[int, msgspec.Meta(ge=1, le=MAX_LAYERS)]
    else:
        kind = _FIELD_TYPES[type(usual)]
    try:
        return convert_value(value, kind) or 0
    except msgspec.ValidationError as error:
        raise UsageError(f"{name} does not describe a model: {error} for `{field}`.") from None


def expanded_rows(described: Rows, sizes: Mapping[str, Any]) -> Rows:
    """Return rows with "$width" as the size that it names, and what ["times", N, rows] and parts stand for; the sizes of a part are added to the others."""
    rows: list[Sequence[Any]] = []
    for kind, *values in described:
        given = [_expanded_value(one, sizes) for one in values]
        if kind == "times":
            rows += given[1] * given[0]
        elif kind in PRESET_TABLE.parts:
            names, *part = PRESET_TABLE.parts[kind]
            rows += expanded_rows(part, {**sizes, **dict(zip(names, given, strict=True))})
        elif kind.startswith("$"):
            rows += sizes[kind[1:]]
        else:
            rows.append((kind, *given))
    return rows


def _expanded_value(value: Any, sizes: Mapping[str, Any]) -> Any:
    """Return the rows, named sizes or size of a description; 0 for a size that a family does not have."""
    if isinstance(value, list):
        return expanded_rows(value, sizes)
    if isinstance(value, dict):
        return {name: _expanded_value(one, sizes) for name, one in value.items()}
    return sizes.get(value[1:], 0) if isinstance(value, str) and value.startswith("$") else value


def _model_of_parameters(text: str, sample: SampleSize) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32,width=4096"."""
    parts = [part.partition("=") for part in text.lower().split(",")]
    sizes = {field: parse_count(value, field) for field, _, value in parts if field in _STATED_FIELDS}
    if len(sizes) < len(parts) or "params" not in sizes:
        raise UsageError(f"{text}: state each of params, layers and width once, as in params=7e9,layers=32,width=4096.")
    parameters = sizes["params"]
    depth = sizes.get("layers") or max(1, round((parameters / (12 * _USUAL_ASPECT**2)) ** (1 / 3)))
    width = sizes.get("width") or max(8, round(math.sqrt(parameters / (12 * depth)) / 8) * 8)
    shape = {
        "num_hidden_layers": depth,
        "hidden_size": width,
        "num_attention_heads": max(1, width // _USUAL_HEAD),
        "head_dim": min(_USUAL_HEAD, width),
        "intermediate_size": round(width * 8 / 3),
    }
    found = network_of_transformer(text, "llama", shape, "").model(text, sample)
    if len(sizes) == len(_STATED_FIELDS) and found.parameters > _MAX_RATIO * parameters:
        raise UsageError(
            f"{depth} layers of width {width} have {found.parameters:,} parameters, not {parameters:,}; leave out one of them."
        )
    flops = ("forward_flops", "step_flops", "block_flops")
    return msgspec.structs.replace(
        found,
        **{field: round(getattr(found, field) * parameters / found.parameters) for field in flops},
        parameters=parameters,
        trainable=parameters,
        largest_block=min(found.largest_block, parameters),
        assumptions=(f"Assumed: a transformer such as Llama, {depth} layers of width {width}, a vocabulary of 32000.",),
    )
