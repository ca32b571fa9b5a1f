"""Networks as data: rows of layers and of parts that recur, as models.json has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpudoctor.fit import layers, structures
from gpudoctor.fit.layers import Row, Rows
from gpudoctor.fit.transformers import TABLE

_KINDS: dict[str, Any] = {**vars(layers), **vars(structures)}


def rows_of(described: Iterable[Any], sizes: Mapping[Any, Any] = {}) -> Rows:
    """Return the rows of [kind, sizes…, {named sizes}], of ["times", N, rows] and of parts, whose first row names their sizes: "$width"."""
    rows: list[Row] = []
    for kind, *values in described:
        named = values.pop() if values and isinstance(values[-1], dict) else {}
        given: list[Any] = [rows_of(one, sizes) if isinstance(one, list) else sizes.get(one, one) for one in values]
        if kind == "times":
            rows += given[1] * given[0]
        elif kind in TABLE.parts:
            names, *part = TABLE.parts[kind]
            rows += rows_of(part, dict(zip(names, given, strict=True)))
        else:
            rows.append(_KINDS[kind](*given, **named))
    return tuple(rows)
