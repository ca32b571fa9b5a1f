"""Models that are known by the header of a .safetensors file alone: https://github.com/huggingface/safetensors#format."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.fit.model import Model, projections
from gpudoctor.typed import converted

_MOST: Final = 10**15
_Size = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]


class _Tensor(msgspec.Struct, frozen=True):
    """What a header says of a tensor."""

    shape: tuple[_Size, ...]
    data_offsets: tuple[_Size, _Size]
    dtype: str = ""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def whole(self) -> bool:
        """Whether its numbers are whole, or truth values."""
        return self.dtype.startswith(("I", "U", "BOOL"))

    @property
    def bytes(self) -> int:
        """What its data should have; every type but one ends with its bits: F32, F8_E4M3."""
        bits = re.match(r"[A-Z]+(\d+)", self.dtype.replace("BOOL", "B8"))
        return -(-self.size * int(bits[1]) // 8) if bits else max(0, self.data_offsets[1] - self.data_offsets[0])


def of_weights(name: str, header: Mapping[str, Any]) -> Model:
    """Return what the header says: parameters, and nothing about activations. Raises UsageError if it is none."""
    matrices: list[tuple[int, int, bool]] = []
    parameters = buffers = 0
    if kind := packed(name, header):
        raise UsageError(f"{name} has quantised weights ({kind}), and does not say how many; put its config.json beside it.")
    for tensor, stated in _tensors(name, header):
        if stated.whole or tensor.endswith(("running_mean", "running_var")):
            buffers += 4 * stated.size
        else:
            parameters += stated.size
            matrices += [(*stated.shape[::-1], bool(re.search(r"\.\d+\.", tensor)))] if len(stated.shape) == 2 else []
    if not 1 <= parameters <= _MOST:
        raise UsageError(f"{name} states {parameters:,} weights; no model has that many.")
    return Model(
        name=name,
        way="formula",
        parameters=parameters,
        trainable=parameters,
        buffers=buffers,
        projections=projections(matrices),
        source="its header",
        assumptions=("The file has the shapes of weights, not of activations; put its config.json beside it.",),
    )


def packed(name: str, header: Mapping[str, Any]) -> str:
    """Return the type of most bytes if that is one of whole numbers, into which quantised weights are packed; else "". Raises UsageError if it is none."""
    bytes_of = Counter[str]()
    for _, stated in _tensors(name, header):
        bytes_of[stated.dtype if stated.whole else ""] += stated.bytes
    return max(bytes_of, key=lambda kind: bytes_of[kind], default="")


def data_bytes(name: str, header: Mapping[str, Any]) -> int:
    """Return how many bytes of tensors follow the header. Raises UsageError if their places do not match their shapes, or overlap."""
    ended, before = 0, ""
    for (begin, end), wanted, tensor in sorted((one.data_offsets, one.bytes, repr(tensor[:80])) for tensor, one in _tensors(name, header)):
        if end - begin != wanted:
            raise UsageError(f"{name} is damaged: {tensor} has {end - begin:,} bytes; its shape and type need {wanted:,}.")
        if begin < ended and wanted:
            raise UsageError(f"{name} is damaged: the data of {before} and {tensor} overlap.")
        ended, before = max(ended, end), tensor
    return ended


def _tensors(name: str, header: Mapping[str, Any]) -> Iterator[tuple[str, _Tensor]]:
    for tensor, entry in header.items():
        if tensor != "__metadata__":
            try:
                yield tensor, converted(entry, _Tensor)
            except msgspec.ValidationError as error:
                raise UsageError(f"{name} is damaged: the header of {tensor[:80]!r} is wrong: {error}.") from None
