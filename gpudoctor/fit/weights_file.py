"""Models that are known by the header of a .safetensors file alone: https://github.com/huggingface/safetensors#format."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from gpudoctor.errors import UsageError
from gpudoctor.fit.model import Model, Projection

_MOST: Final = 10**15


def of_weights(name: str, header: Mapping[str, Any]) -> Model:
    """Return what the header says: parameters, and nothing about activations. Raises UsageError if it is none."""
    matrices: Counter[tuple[int, int, bool]] = Counter()
    parameters = buffers = 0
    for tensor, entry in header.items():
        if tensor == "__metadata__":
            continue
        if not isinstance(entry, dict) or not _is_shape(entry.get("shape")):
            raise UsageError(f"{name} is not a .safetensors file: a tensor in its header has no shape.")
        shape = entry["shape"]
        size = math.prod(shape)
        if str(entry.get("dtype", "")).startswith(("I", "U", "BOOL")) or tensor.endswith(("running_mean", "running_var")):
            buffers += 4 * size
            continue
        parameters += size
        if len(shape) == 2:
            matrices[shape[1], shape[0], bool(re.search(r"\.\d+\.", tensor))] += 1
    if not 1 <= parameters <= _MOST:
        raise UsageError(f"{name} states {parameters:,} weights; no model has that many.")
    return Model(
        name=name,
        sample="",
        way="formula",
        parameters=parameters,
        trainable=parameters,
        buffers=buffers,
        projections=tuple(Projection(rows, columns, count, adapted) for (rows, columns, adapted), count in matrices.items()),
        full=None,
        half=None,
        source="its header",
        assumptions=("The file has the shapes of weights, not of activations; put its config.json beside it.",),
    )


def data_bytes(name: str, header: Mapping[str, Any]) -> int:
    """Return how many bytes of tensors follow the header. Raises UsageError if their places do not match their shapes, or overlap."""
    places = sorted(_places(name, header))
    for (_, end, one), (begin, _, other) in pairwise(places):
        if begin < end:
            raise UsageError(f"{name} is damaged: the data of {one} and {other} overlap.")
    return places[-1][1] if places else 0


def _places(name: str, header: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    """Yield where the data of each tensor begins and ends, and its name in quotes."""
    for tensor, entry in header.items():
        if tensor == "__metadata__":
            continue
        offsets, said = entry.get("data_offsets"), repr(tensor[:80])
        if not _is_shape(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            raise UsageError(f"{name} is damaged: its header does not say where the data of {said} is.")
        begin, end = offsets
        bits = re.match(
            r"[A-Z]+(\d+)", str(entry.get("dtype")).replace("BOOL", "B8")
        )  # each type but this ends with its bits: F32, F8_E4M3
        wanted = -(-math.prod(entry["shape"]) * int(bits[1]) // 8) if bits else end - begin
        if end - begin != wanted:
            raise UsageError(f"{name} is damaged: {said} has {end - begin:,} bytes; its shape and type need {wanted:,}.")
        if begin < end:
            yield begin, end, said


def _is_shape(value: object) -> bool:
    return isinstance(value, list) and all(type(side) is int and 0 <= side <= _MOST for side in value)
