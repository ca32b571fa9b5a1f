"""Reads what a user names as a model: a file that others wrote, never run, and never more of it than its description can be."""

from __future__ import annotations

import json
import os
import re
import zipfile
from math import prod
from typing import Any

import msgspec

from gpudoctor import regular_files
from gpudoctor.errors import UsageError
from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.model import Model, grouped_projections
from gpudoctor.model_files.configuration import network_of_configuration
from gpudoctor.model_files.keras import model_of_keras
from gpudoctor.tensor_headers import TensorHeaders, data_bytes, packed_type, parse_tensor_headers

_MAX_BYTES = 100 << 20
"""Bytes of a description; the safetensors library refuses larger headers too."""
_INDEX_SUFFIX = ".safetensors.index.json"
_MAX_PARAMETERS = 10**15
"""More are not believed."""
_PICKLE_REFUSAL = "is a pickle, which cannot be read without running code in it"
UNREADABLE_SUFFIXES = {
    ".gguf": "is packed for inference by llama.cpp",
    ".onnx": "is a graph for inference",
    ".h5": "is a Keras file of version 2, or weights alone",
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), _PICKLE_REFUSAL),
}
"""Why files of other formats are not read, by how their names end."""
_LENGTH_BYTES = 8
"""Bytes of the length before a header."""


def read_model(path: str, sample: SampleSize) -> Model:
    """Return what a config.json, a .safetensors or a .keras file says of a model. Raises UsageError if it cannot be read."""
    name = os.path.basename(path)
    if reason := UNREADABLE_SUFFIXES.get(os.path.splitext(name)[1]):
        raise UsageError(f"{name} {reason}; name the model's config.json, or a function that builds it: module:function.")
    try:
        if path.endswith(".keras"):
            return model_of_keras(name, _keras_configuration(path), sample)
        if path.endswith((".safetensors", _INDEX_SUFFIX)):
            return _model_of_safetensors(path, name, sample)
        return _model_of_configuration(path, name, sample)
    except (ValueError, RecursionError, KeyError):
        raise UsageError(f"{name} is not a config.json, .safetensors or .keras file that can be read.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def _model_of_configuration(path: str, name: str, sample: SampleSize) -> Model:
    """Return the model of a config.json, called `name`."""
    fields = _json_object(regular_files.file_beginning(path, _MAX_BYTES))
    stored = fields.get("dtype") or fields.get("torch_dtype")  # newer files have the shorter name
    return msgspec.structs.replace(
        network_of_configuration(name, fields).model(name, sample), stored=stored if isinstance(stored, str) else ""
    )


def _model_of_safetensors(path: str, name: str, sample: SampleSize) -> Model:
    """Return the model by its config.json if that is beside the file, with the parameters that the file has."""
    tensors = _all_headers(path, name) if "-of-" in name or path.endswith(_INDEX_SUFFIX) else _file_header(path, name)
    beside = os.path.join(os.path.dirname(path), "config.json")
    if not os.path.isfile(beside):
        return _model_of_weights(name, tensors)
    try:
        known = _model_of_configuration(beside, "config.json", sample)
    except UsageError as error:
        return msgspec.structs.replace(
            _model_of_weights(name, tensors), assumptions=(f"Activations are unknown: {str(error).rstrip('.')}.",)
        )
    parameters = known.parameters if packed_type(tensors) else _model_of_weights(name, tensors).parameters
    return msgspec.structs.replace(known, name=name, parameters=parameters, trainable=parameters)


def _model_of_weights(name: str, tensors: TensorHeaders) -> Model:
    """Return what the shapes of weights say: parameters, and nothing about activations."""
    if kind := packed_type(tensors):
        raise UsageError(f"{name} has quantised weights ({kind}), and does not say how many; put its config.json beside it.")
    buffers = {tensor for tensor, one in tensors.items() if one.whole or tensor.endswith(("running_mean", "running_var"))}
    shapes = {tensor: one.shape for tensor, one in tensors.items() if tensor not in buffers}
    parameters = sum(map(prod, shapes.values()))
    if not 1 <= parameters <= _MAX_PARAMETERS:
        raise UsageError(f"{name} states {parameters:,} weights; no model has that many.")
    return Model(
        name=name,
        parameters=parameters,
        trainable=parameters,
        buffers=sum(4 * tensors[tensor].size for tensor in buffers),
        projections=grouped_projections(
            (*shape[::-1], bool(re.search(r"\.\d+\.", tensor))) for tensor, shape in shapes.items() if len(shape) == 2
        ),
        source="its header",
        assumptions=("The file has the shapes of weights, not of activations; put its config.json beside it.",),
    )


def _all_headers(path: str, name: str) -> TensorHeaders:
    """Return the headers of all files that an index lists, together; the index is beside a file that is one of several."""
    folder = os.path.dirname(path)
    index = re.sub(r"-\d+-of-\d+\.safetensors$", _INDEX_SUFFIX, name)
    try:
        listed = _json_object(regular_files.file_beginning(os.path.join(folder, index), _MAX_BYTES))["weight_map"]
        found: TensorHeaders = {}
        for part in sorted({os.path.basename(str(part)) for part in listed.values()}):
            found.update(_file_header(os.path.join(folder, part), part))
    except FileNotFoundError as error:
        missing = os.path.basename(str(error.filename))
        raise UsageError(f"{name} is part of a model whose {missing} is not there; name its config.json instead.") from None
    except AttributeError as error:
        raise ValueError(index) from error
    return found


def _file_header(path: str, name: str) -> TensorHeaders:
    """Return the header of a file, whose data must be there as it says, or not at all."""
    length = int.from_bytes(regular_files.file_beginning(path, _LENGTH_BYTES), "little")
    if not 0 < length <= _MAX_BYTES:
        raise ValueError(length)
    header = regular_files.file_beginning(path, _LENGTH_BYTES + length)[_LENGTH_BYTES:]
    if len(header) < length:
        raise ValueError(length)
    tensors = parse_tensor_headers(name, _json_object(header))
    wanted = data_bytes(name, tensors)
    there = os.path.getsize(path) - _LENGTH_BYTES - length
    if 0 < there < wanted:  # a header alone is enough to count
        raise UsageError(f"{name} is cut off: it has {there:,} of {wanted:,} bytes of weights; download it again.")
    return tensors


def _keras_configuration(path: str) -> dict[str, Any]:
    regular_files.file_beginning(path, 1)  # refuses what is no regular file
    try:
        with zipfile.ZipFile(path) as archive, archive.open("config.json") as member:
            described = member.read(_MAX_BYTES)
    except OSError:
        raise
    except Exception as damage:  # noqa: BLE001 -- zipfile passes on what the unpackers of its four methods raise
        raise ValueError(damage) from None
    return _json_object(described)


def _json_object(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError(found)  # noqa: TRY004 -- of its content
    return found
