"""Everything that a snapshot, or a part of one, lacks, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.snapshot.values import Missing


def missing_values(value: Any) -> Iterator[Missing]:
    """Every missing value in a structure of structs, tuples and dictionaries."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Missing):
            yield one
        elif isinstance(one, msgspec.Struct):
            left += [getattr(one, name) for name in reversed(one.__struct_fields__)]
        elif isinstance(one, tuple | list):
            left += reversed(one)
        elif isinstance(one, dict):
            left += reversed(one.values())
