"""The models that can be named, with where their shapes are published, and those that are stated by their number of parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gpudoctor.amounts import count
from gpudoctor.errors import UsageError
from gpudoctor.fit import layers, structures
from gpudoctor.fit.counted import USUAL, Network, Sample
from gpudoctor.fit.layers import Row, Rows
from gpudoctor.fit.model import Model
from gpudoctor.fit.transformers import TABLE, transformer
from gpudoctor.nearest import suggestion

PRESETS = TABLE.presets
"""By name: the rows of a network, or the fields of a transformer's config.json; and where they are published."""
_KINDS: dict[str, Any] = {**vars(layers), **vars(structures)}
_HEAD = 128
_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_APART = 1.5
"""How many times as many parameters a stated shape may have as are stated, since its vocabulary is not."""
_FIELDS = ("params", "layers", "width")


def model(name: str, sample: Sample = USUAL) -> Model:
    """Return what is known of a preset, or of "params=7e9", for samples of this size. Raises UsageError for what is neither, or does not fit."""
    if "params=" in name.lower():
        return _of_parameters(name, sample)
    published = f"/{re.sub('(?i)-(instruct|chat)', '', name)}/blob/main/config.json".casefold()  # tuning leaves the shape
    of_source = (key for key, fields in PRESETS.items() if fields["source"].casefold().endswith(published))
    wanted = next(of_source, name.casefold())
    if wanted not in PRESETS:
        size = re.search(r"(?i)(?<![\w.])\d+(?:\.\d+)?[bm]\b", name)
        otherwise = f"download its config.json and name that, or state its size: params={size[0].upper() if size else '7B'}. Presets are {', '.join(PRESETS)}."
        raise UsageError(f"There is no model {name!r}; {suggestion(name, PRESETS, otherwise)}")
    return network(wanted).model(wanted, sample)


def network(name: str) -> Network:
    """Return the layers of a preset."""
    fields = PRESETS[name]
    if "rows" in fields:
        return Network(rows_of(fields["rows"]), tuple(fields["sample"]), fields["source"], fixed=fields.get("fixed", False))
    return transformer(name, fields["model_type"], fields, fields["source"])


def rows_of(described: Iterable[Any], sizes: Mapping[Any, Any] = {}) -> Rows:
    """Return the rows of [kind, sizes…, {named sizes}], of ["times", N, rows] and of parts, whose first row names their sizes: "$width"."""
    rows: list[Row] = []
    for kind, *values in described:
        named = values.pop() if values and isinstance(values[-1], dict) else {}
        given: list[Any] = [rows_of(one, sizes) if isinstance(one, list) else sizes.get(one, one) for one in values]
        if kind == "times":
            rows += given[1] * given[0]
        elif kind in TABLE.parts:
            names, *part = TABLE.parts[kind]
            rows += rows_of(part, dict(zip(names, given, strict=True)))
        else:
            rows.append(_KINDS[kind](*given, **named))
    return tuple(rows)


def _of_parameters(text: str, sample: Sample) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32,width=4096"."""
    parts = [part.partition("=") for part in text.lower().split(",")]
    sizes = {field: count(value, field) for field, _, value in parts if field in _FIELDS}
    if len(sizes) < len(parts) or "params" not in sizes:
        raise UsageError(f"{text}: state each of params, layers and width once, as in params=7e9,layers=32,width=4096.")
    parameters = sizes["params"]
    depth = sizes.get("layers") or max(1, round((parameters / (12 * _ASPECT**2)) ** (1 / 3)))
    width = sizes.get("width") or max(8, round(math.sqrt(parameters / (12 * depth)) / 8) * 8)
    shape = {
        "num_hidden_layers": depth,
        "hidden_size": width,
        "num_attention_heads": max(1, width // _HEAD),
        "head_dim": min(_HEAD, width),
        "intermediate_size": round(width * 8 / 3),
    }
    found = transformer(text, "llama", shape, "").model(text, sample)
    if len(sizes) == len(_FIELDS) and found.parameters > _APART * parameters:
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
