"""Models that are stated by their number of parameters alone."""

from __future__ import annotations

import math

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample, counted
from gpudoctor.fit.model import Model
from gpudoctor.fit.networks import MOST_LAYERS, Transformer
from gpudoctor.fit.presets import USUAL_TOKENS

_MOST = 10**15
_HEAD = 128
_ASPECT = 128
"""The width of a transformer for each of its layers, about that of Llama 7B (4096 to 32) and GPT-3 (12288 to 96)."""
_VOCABULARY = 32000
_FIELDS = ("params", "layers", "width")


def of_parameters(text: str, sample: Sample) -> Model:
    """Return a transformer such as Llama with so many parameters: "params=7e9,layers=32". Raises UsageError for what is no size."""
    given = {field: value for field, _, value in (part.partition("=") for part in text.lower().split(","))}
    if unknown := given.keys() - {*_FIELDS}:
        raise UsageError(f"MODEL has no field {min(unknown)!r}; write it as in params=7e9,layers=32,width=4096.")
    parameters = _number(given.get("params", ""), "params")
    usual = (parameters / (12 * _ASPECT**2)) ** (1 / 3)
    layers = _number(given["layers"], "layers") if "layers" in given else max(1, round(usual))
    width = _number(given["width"], "width") if "width" in given else max(8, round(math.sqrt(parameters / (12 * layers)) / 8) * 8)
    if layers > MOST_LAYERS or width > 1 << 20:
        raise UsageError(f"A transformer of {layers:,} layers of width {width:,} is too large to count.")
    shape = Transformer(
        layers=layers,
        width=width,
        heads=max(1, width // _HEAD),
        inner=round(width * 8 / 3),
        size=min(_HEAD, width),
        entries=_VOCABULARY,
        function="silu",
        bias=False,
    )
    model = counted(text, shape.decoder(), sample.shape((USUAL_TOKENS,), text))
    assumed = f"Assumed: a transformer such as Llama, {layers} layers of width {width}, a vocabulary of {_VOCABULARY}."
    sizes = {"parameters": parameters, "trainable": parameters, "largest_block": min(model.largest_block, parameters)}
    for field in ("forward_flops", "step_flops", "block_flops"):
        sizes[field] = round(getattr(model, field) * parameters / model.parameters)
    return msgspec.structs.replace(model, **sizes, assumptions=(assumed,))


def _number(text: str, field: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _MOST:
        raise UsageError(f"{field}={text} is not a size; write it as in params=7e9,layers=32.")
    return round(value)
