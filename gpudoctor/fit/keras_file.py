"""Models by the configuration in a .keras file, layer by layer. The file is foreign: none of its code is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample, of_tallies
from gpudoctor.fit.layers import FUNCTIONS, Conv, Dropout, Embedding, Flatten, Function, Linear, Norm, Pool, PoolTo, Rows, run
from gpudoctor.fit.model import Model
from gpudoctor.fit.structures import Loss
from gpudoctor.fit.tally import Tally, Tensor

_MERGES = {"Add", "Subtract", "Multiply", "Average", "Maximum"}
_PASSED = {"InputLayer", "Rescaling", "Normalization", "RandomFlip", "RandomRotation", "RandomZoom"}
_MOST = 1 << 20


def of_keras(name: str, document: Mapping[str, Any], sample: Sample) -> Model:
    """Return what is known of a Sequential or Functional model. Raises UsageError for a layer that is not counted."""
    try:
        layers = document["config"]["layers"]
        shape = _shape(next(one for one in (_input(layer) for layer in layers) if one))
        sized = sample.shape(shape, name)

        def network(tally: Tally, x: Tensor) -> None:
            made: dict[str, Tensor] = {}
            for layer in layers:
                read = [made[of] for of in _read(layer.get("inbound_nodes", [])) if of in made] or [x]
                x = _layer(name, layer, tally, read)
                made[str(layer["config"].get("name"))] = x
            Loss()(tally, x)

        counted = of_tallies(name, sized, network, source="its configuration")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, StopIteration):
        raise UsageError(f"{name} has no Sequential or Functional model that can be read.") from None
    return msgspec.structs.replace(counted, assumptions=("Activations are counted as PyTorch keeps them, not Keras.",))


def _layer(name: str, layer: Mapping[str, Any], tally: Tally, read: list[Tensor]) -> Tensor:
    kind, config = str(layer["class_name"]), layer["config"]
    if kind in _MERGES:
        return tally.made(read[0], read[0].shape)
    if kind == "Concatenate":
        place = 0 if len(read[0].shape) == 3 else -1
        shape = list(read[0].shape)
        shape[place] = sum(one.shape[place] for one in read)
        return tally.made(read[0], tuple(shape))
    if kind in _PASSED:
        return read[0]
    if kind not in _KINDS:
        raise UsageError(f"{name} has a layer of kind {kind[:40]}, which is not counted; name a function that builds it: module:function.")
    rows = _KINDS[kind](config, read[0])
    function = config.get("activation") if kind != "Activation" else None
    if isinstance(function, str) and function != "linear":
        rows = (*rows, Function(function))
    if any(isinstance(row, Function) and row.name not in FUNCTIONS for row in rows):
        raise UsageError(f"{name} has the function {str(config.get('activation'))[:40]!r}, which is not counted.")
    return run(rows, tally, read[0])


def _read(node: object) -> Iterator[str]:
    """Yield the names of the layers whose outputs a layer reads."""
    if isinstance(node, dict):
        history = node.get("keras_history")
        if isinstance(history, list):
            yield str(history[0])
        for child in node.values():
            yield from _read(child)
    elif isinstance(node, list):
        for child in node:
            yield from _read(child)


def _input(layer: Mapping[str, Any]) -> Any:
    """Return the shape that a layer reads, with the batch first; None if it does not say."""
    config = layer["config"]
    return config.get("batch_shape") or config.get("batch_input_shape") or layer.get("build_config", {}).get("input_shape")


def _shape(batched: Any) -> tuple[int, ...]:
    """Return the shape of a sample, channels first."""
    sides = tuple(_size(side) for side in batched[1:])
    return (sides[2], sides[0], sides[1]) if len(sides) == 3 else sides


def _size(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        raise ValueError(value)
    return value


def _square(value: Any) -> int:
    sides = {_size(side) for side in (value if isinstance(value, list | tuple) else [value])}
    (side,) = sides
    return side


def _padding(config: Mapping[str, Any], window: int) -> int:
    return (window - 1) // 2 if config.get("padding") == "same" else 0


def _biased(config: Mapping[str, Any]) -> bool:
    return config.get("use_bias", True) is True


def _conv(config: Mapping[str, Any], out: int, groups: int) -> Rows:
    kernel = _square(config["kernel_size"])
    return (Conv(out, kernel, _square(config["strides"]), _padding(config, kernel), bias=_biased(config), groups=groups),)


def _pool(config: Mapping[str, Any], *, maximum: bool) -> Rows:
    window = _square(config["pool_size"])
    return (Pool(window, _square(config.get("strides") or window), _padding(config, window), maximum=maximum),)


_KINDS: dict[str, Callable[[Mapping[str, Any], Tensor], Rows]] = {
    "Dense": lambda config, _: (Linear(_size(config["units"]), bias=_biased(config), adapted=False),),
    "Conv2D": lambda config, _: _conv(config, _size(config["filters"]), _size(config.get("groups", 1))),
    "DepthwiseConv2D": lambda config, x: _conv(config, x.shape[0], x.shape[0]),
    "MaxPooling2D": lambda config, _: _pool(config, maximum=True),
    "AveragePooling2D": lambda config, _: _pool(config, maximum=False),
    "GlobalAveragePooling2D": lambda _, __: (PoolTo(1), Flatten()),
    "BatchNormalization": lambda _, x: (Norm("batch" if len(x.shape) == 3 else "layer"),),
    "LayerNormalization": lambda _, __: (Norm("layer"),),
    "Embedding": lambda config, _: (Embedding(_size(config["input_dim"]), _size(config["output_dim"])),),
    "Activation": lambda config, _: (Function(str(config["activation"])),),
    "ReLU": lambda _, __: (Function("relu"),),
    "Flatten": lambda _, __: (Flatten(),),
    "Dropout": lambda _, __: (Dropout(),),
}
"""The rows of each kind of Keras layer."""
