"""Models by their Hugging Face config.json, as rows of layers. The file is foreign: its numbers are checked, none of its code is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample, counted
from gpudoctor.fit.layers import FUNCTIONS, Rows
from gpudoctor.fit.model import Model
from gpudoctor.fit.networks import Transformer
from gpudoctor.fit.presets import MOST_LAYERS, USUAL_TOKENS

_LARGEST = 1 << 24
_FUNCTIONS = {"gelu_pytorch_tanh": "gelu", "gelu_fast": "gelu_new", "swish": "silu", "quick_gelu": "silu"}
_CONVOLUTIONAL = 3


class Numbers:
    """The fields of a config.json, each checked as it is read."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self._fields = name, fields

    def number(self, *fields: str, otherwise: int | None = None) -> int:
        """Return the first field that is set. Raises UsageError for a value that no model has."""
        value = next((self._fields[field] for field in fields if self._fields.get(field) is not None), otherwise)
        least = 0 if otherwise == 0 else 1
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LARGEST:
            raise UsageError(
                f"{self.name}: {fields[0]} is {value!r}, not a size." if value is not None else f"{self.name} has no {fields[0]}."
            )
        return value

    def flag(self, field: str, *, otherwise: bool = False) -> bool:
        """Return whether a field is true."""
        value = self._fields.get(field)
        return value if isinstance(value, bool) else otherwise

    def function(self, *fields: str, otherwise: str) -> str:
        """Return a function of FUNCTIONS. Raises UsageError for an unknown one."""
        named = str(next((self._fields[field] for field in fields if self._fields.get(field)), otherwise))
        if (known := _FUNCTIONS.get(named, named)) not in FUNCTIONS:
            raise UsageError(f"{self.name}: the function {named[:40]!r} is unknown; known are {', '.join(FUNCTIONS)}.")
        return known

    def transformer(self, **more: Any) -> Transformer:
        """Return the shape that most configurations state by the same names."""
        width, heads = self.number("hidden_size", "n_embd"), self.number("num_attention_heads", "n_head")
        layers = self.number("num_hidden_layers", "n_layer")
        if heads > width or layers > MOST_LAYERS:
            raise UsageError(f"{self.name} has a shape that no model has: {layers} layers of width {width} with {heads} heads.")
        return Transformer(
            **{
                "layers": layers,
                "width": width,
                "heads": heads,
                "inner": self.number("intermediate_size", "n_inner", otherwise=4 * width),
                **more,
            }
        )


def _llama(numbers: Numbers, *, queries: bool = False, normed: bool = False, tied: bool = False, function: str = "silu") -> Rows:
    return numbers.transformer(
        entries=numbers.number("vocab_size"),
        of_keys=numbers.number("num_key_value_heads", otherwise=0),
        size=numbers.number("head_dim", otherwise=0),
        tied=numbers.flag("tie_word_embeddings", otherwise=tied),
        function=numbers.function("hidden_activation", "hidden_act", otherwise=function),
        bias=numbers.flag("mlp_bias"),
        bias_of_queries=queries or numbers.flag("attention_bias"),
        normed=normed,
    ).decoder()


def _gpt2(numbers: Numbers) -> Rows:
    return numbers.transformer(
        entries=numbers.number("vocab_size"),
        places=numbers.number("n_positions", otherwise=1024),
        tied=numbers.flag("tie_word_embeddings", otherwise=True),
        function=numbers.function("activation_function", otherwise="gelu_new"),
    ).older_decoder()


def _bert(numbers: Numbers) -> Rows:
    places, function = numbers.number("max_position_embeddings"), numbers.function("hidden_act", otherwise="gelu")
    return numbers.transformer(entries=numbers.number("vocab_size"), places=places, function=function).encoder(
        numbers.number("type_vocab_size", otherwise=2)
    )


def _vit(numbers: Numbers) -> Rows:
    function = numbers.function("hidden_act", otherwise="gelu")
    return numbers.transformer(function=function).vision(numbers.number("patch_size", otherwise=16), 1000)


_FAMILIES: dict[str, Callable[[Numbers], Rows]] = {
    "llama": _llama,
    "mistral": _llama,
    "phi3": _llama,
    "qwen2": lambda numbers: _llama(numbers, queries=True),
    "qwen3": lambda numbers: _llama(numbers, normed=True),
    "gemma": lambda numbers: _llama(numbers, tied=True, function="gelu"),
    "gpt2": _gpt2,
    "bert": _bert,
    "roberta": _bert,
    "vit": _vit,
}
"""By model_type: https://huggingface.co/docs/transformers has the configuration of each."""


def of_config(name: str, fields: Mapping[str, Any], sample: Sample) -> Model:
    """Return what is known of the model of a config.json. Raises UsageError if its kind is unknown or its numbers are wrong."""
    family, numbers = _FAMILIES.get(str(fields.get("model_type"))), Numbers(name, fields)
    if family is None:
        kind = str(fields.get("model_type", "no model_type"))[:40]
        raise UsageError(
            f"{name} is of kind {kind!r}; known are {', '.join(_FAMILIES)}. Any other model: state params=N, or module:function."
        )
    if family is _vit:
        side = numbers.number("image_size", otherwise=224)
        shape = sample.shape((numbers.number("num_channels", otherwise=_CONVOLUTIONAL), side, side), name, fixed=True)
    else:
        most = numbers.number("max_position_embeddings", "n_positions", otherwise=USUAL_TOKENS)
        shape = sample.shape((min(most, USUAL_TOKENS),), name, most=most)
    return counted(name, family(numbers), shape, source="its config.json")
