"""The header of a .safetensors file, which describes its tensors: https://github.com/huggingface/safetensors#format."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.typed_values import convert_value

_Size = Annotated[int, msgspec.Meta(ge=0, le=10**15)]


class TensorHeader(msgspec.Struct, frozen=True):
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


TensorHeaders = dict[str, TensorHeader]
"""Tensors by name."""


def parse_tensor_headers(name: str, described: Mapping[str, Any]) -> TensorHeaders:
    """Return the tensors of a header. Raises UsageError if it is none."""
    found = {}
    for tensor, entry in described.items():
        if tensor != "__metadata__":
            try:
                found[tensor] = convert_value(entry, TensorHeader)
            except msgspec.ValidationError as error:
                raise UsageError(f"{name} is damaged: the header of {tensor[:80]!r} is wrong: {error}.") from None
    return found


def packed_type(tensors: TensorHeaders) -> str:
    """Return the type of most bytes if that is one of whole numbers, into which quantised weights are packed; else ""."""
    bytes_of = Counter[str]()
    for tensor in tensors.values():
        bytes_of[tensor.dtype if tensor.whole else ""] += tensor.bytes
    return max(bytes_of, key=lambda kind: bytes_of[kind], default="")


def data_bytes(name: str, tensors: TensorHeaders) -> int:
    """Return how many bytes of tensors follow the header. Raises UsageError if their places do not match their shapes, or overlap."""
    ended, before = 0, ""
    for (begin, end), wanted, tensor in sorted((one.data_offsets, one.bytes, repr(tensor[:80])) for tensor, one in tensors.items()):
        if end - begin != wanted:
            raise UsageError(f"{name} is damaged: {tensor} has {end - begin:,} bytes; its shape and type need {wanted:,}.")
        if begin < ended and wanted:
            raise UsageError(f"{name} is damaged: the data of {before} and {tensor} overlap.")
        ended, before = max(ended, end), tensor
    return ended
