"""Models by the configuration in a .keras file, layer by layer. The file is foreign: none of its code is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import PresetNetwork, SampleSize
from gpudoctor.fit.layers import KEPT_BY_FUNCTION, Rows, add_layers
from gpudoctor.fit.model import Model
from gpudoctor.fit.tally import LayerTally, Tensor

_MERGE_LAYERS = {"Add", "Subtract", "Multiply", "Average", "Maximum"}
_MAX_SIZE = 1 << 20


def model_of_keras(name: str, document: Mapping[str, Any], sample: SampleSize) -> Model:
    """Return what is known of a Sequential or Functional model. Raises UsageError for a layer that is not counted."""
    try:
        layers = document["config"]["layers"]
        shape = _sample_shape(next(shape for shape in (_input_shape(one) for one in layers) if shape))
        rows, assumed = ((_layer_graph, name, layers), ("loss",)), "Activations are counted as PyTorch keeps them, not Keras."
        return PresetNetwork(rows, shape, "its configuration", assumptions=(assumed,)).model(name, sample)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        raise UsageError(f"{name} has no Sequential or Functional model that can be read.") from None


def _layer_graph(tally: LayerTally, x: Tensor, name: str, layers: list[Any]) -> Tensor:
    """Layers by name, each of which reads the outputs of others, or of the one before it."""
    made: dict[str, Tensor] = {}
    for one in layers:
        read = [made[of] for of in _input_layers(one.get("inbound_nodes", [])) if of in made] or [x]
        x = made[str(one["config"].get("name"))] = _layer_output(name, tally, one, read)
    return x


def _layer_output(name: str, tally: LayerTally, one: Mapping[str, Any], read: list[Tensor]) -> Tensor:
    """Return what a layer makes of what it reads."""
    kind, config, x = str(one["class_name"]), one["config"], read[0]
    if kind in _MERGE_LAYERS:
        return tally.output_tensor(x, x.shape)
    if kind == "Concatenate":
        place = 0 if len(x.shape) == 3 else len(x.shape) - 1
        return tally.output_tensor(x, (*x.shape[:place], sum(tensor.shape[place] for tensor in read), *x.shape[place + 1 :]))
    if kind not in _ROWS_BY_LAYER:
        raise UsageError(f"{name} has a layer of kind {kind[:40]}, which is not counted; name a function that builds it: module:function.")
    rows, after = _ROWS_BY_LAYER[kind](config, x), config.get("activation")
    if isinstance(after, str) and after not in KEPT_BY_FUNCTION:
        raise UsageError(f"{name} has the function {after[:40]!r}, which is not counted.")
    return add_layers((*rows, ("function", after)) if isinstance(after, str) and after != "linear" else rows, tally, x)


def _input_layers(node: object) -> Iterator[str]:
    """Yield the names of the layers whose outputs a layer reads."""
    if isinstance(node, dict):
        history = node.get("keras_history")
        if isinstance(history, list):
            yield str(history[0])
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _input_layers(child)


def _input_shape(one: Mapping[str, Any]) -> Any:
    """Return the shape that a layer reads, with the batch first; None if it does not say."""
    config = one["config"]
    return config.get("batch_shape") or config.get("batch_input_shape") or one.get("build_config", {}).get("input_shape")


def _sample_shape(batched: Any) -> tuple[int, ...]:
    """Return the shape of a sample, channels first."""
    sides = tuple(_checked_size(side) for side in batched[1:])
    return (sides[2], sides[0], sides[1]) if len(sides) == 3 else sides


def _checked_size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_SIZE:
        raise ValueError(value)
    return value


def _window_sizes(config: Mapping[str, Any], size: Any, stride: Any) -> tuple[int, int, int]:
    """Return the side of a window, its stride and its padding; it must be square."""
    (side,), (step,) = ({_checked_size(one) for one in (value if isinstance(value, list | tuple) else [value])} for value in (size, stride))
    return side, step, (side - 1) // 2 if config.get("padding") == "same" else 0


def _has_bias(config: Mapping[str, Any]) -> bool:
    return config.get("use_bias", True) is True


def _convolution_rows(config: Mapping[str, Any], out: int, groups: int) -> Rows:
    return (("conv", out, *_window_sizes(config, config["kernel_size"], config["strides"]), {"bias": _has_bias(config), "groups": groups}),)


def _pooling_rows(config: Mapping[str, Any], *, maximum: bool) -> Rows:
    return (("pool", *_window_sizes(config, config["pool_size"], config.get("strides") or config["pool_size"]), {"maximum": maximum}),)


_RowBuilder = Callable[[Mapping[str, Any], Tensor], Rows]
_IGNORED_LAYERS = ("InputLayer", "Rescaling", "Normalization", "RandomFlip", "RandomRotation", "RandomZoom", "Activation")
_ROWS_BY_LAYER: dict[str, _RowBuilder] = {
    **dict.fromkeys(_IGNORED_LAYERS, lambda _, __: ()),
    "Dense": lambda config, _: (("linear", _checked_size(config["units"]), {"bias": _has_bias(config), "adapted": False}),),
    "Conv2D": lambda config, _: _convolution_rows(config, _checked_size(config["filters"]), _checked_size(config.get("groups", 1))),
    "DepthwiseConv2D": lambda config, x: _convolution_rows(config, x.shape[0], x.shape[0]),
    "MaxPooling2D": lambda config, _: _pooling_rows(config, maximum=True),
    "AveragePooling2D": lambda config, _: _pooling_rows(config, maximum=False),
    "GlobalAveragePooling2D": lambda _, __: (("poolto", 1), ("flatten",)),
    "BatchNormalization": lambda _, x: (("norm", "batch" if len(x.shape) == 3 else "layer"),),
    "LayerNormalization": lambda _, __: (("norm", "layer"),),
    "Embedding": lambda config, _: (("embedding", _checked_size(config["input_dim"]), _checked_size(config["output_dim"])),),
    "ReLU": lambda _, __: (("function", "relu"),),
    "Flatten": lambda _, __: (("flatten",),),
    "Dropout": lambda _, __: (("dropout",),),
}
"""The rows of each kind of Keras layer, without its activation."""
