"""Everything that a snapshot, or a part of one, lacks, at any depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.snapshot.values import Missing


def gaps(value: Any) -> Iterator[Missing]:
    """Every missing value in a structure of structs, tuples and dictionaries."""
    if isinstance(value, Missing):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from gaps(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from gaps(item)
    elif isinstance(value, dict):
        yield from gaps(tuple(value.values()))
