"""Reads what a user names as a model: a file that others wrote, never run, and never more of it than its description can be."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import msgspec

from gpudoctor import regular_files
from gpudoctor.errors import UsageError
from gpudoctor.fit.counted import Sample
from gpudoctor.fit.hub import of_config
from gpudoctor.fit.keras_file import of_keras
from gpudoctor.fit.model import Model
from gpudoctor.fit.weights_file import data_bytes, of_weights

_LARGEST = 100 << 20
"""Bytes of a description; the safetensors library refuses larger headers too."""
_PREFIX = 8
"""Bytes of the length before a header."""


def read_model(path: str, sample: Sample) -> Model:
    """Return what a config.json, a .safetensors or a .keras file says of a model. Raises UsageError if it cannot be read."""
    name = os.path.basename(path)
    try:
        if path.endswith(".keras"):
            return of_keras(name, _keras(path), sample)
        if path.endswith(".safetensors"):
            return _safetensors(path, name, sample)
        return of_config(name, _object(regular_files.beginning(path, _LARGEST))).model(name, sample)
    except (ValueError, RecursionError, KeyError):
        raise UsageError(f"{name} is not a config.json, .safetensors or .keras file that can be read.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def _safetensors(path: str, name: str, sample: Sample) -> Model:
    """Return the model by its config.json if that is beside the file, with the parameters that the file has."""
    if "-of-" in name:
        raise UsageError(f"{name} is one of several files of a model; name its config.json instead.")
    length = int.from_bytes(regular_files.beginning(path, _PREFIX), "little")
    if not 0 < length <= _LARGEST:
        raise ValueError(length)
    header = regular_files.beginning(path, _PREFIX + length)[_PREFIX:]
    if len(header) < length:
        raise ValueError(length)
    described = _object(header)
    weights, wanted = of_weights(name, described), data_bytes(name, described)
    there = os.path.getsize(path) - _PREFIX - length
    if 0 < there < wanted:  # a header alone is enough to count
        raise UsageError(f"{name} is cut off: it has {there:,} of {wanted:,} bytes of weights; download it again.")
    beside = os.path.join(os.path.dirname(path), "config.json")
    if not os.path.isfile(beside):
        return weights
    known = of_config("config.json", _object(regular_files.beginning(beside, _LARGEST))).model("config.json", sample)
    return msgspec.structs.replace(known, name=name, parameters=weights.parameters, trainable=weights.parameters)


def _keras(path: str) -> dict[str, Any]:
    regular_files.beginning(path, 1)  # refuses what is no regular file
    try:
        with zipfile.ZipFile(path) as archive, archive.open("config.json") as member:
            described = member.read(_LARGEST)
    except OSError:
        raise
    except Exception as damage:  # noqa: BLE001 -- zipfile passes on what the unpackers of its four methods raise
        raise ValueError(damage) from None
    return _object(described)


def _object(data: bytes) -> dict[str, Any]:
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError(found)  # noqa: TRY004 -- of its content
    return found
