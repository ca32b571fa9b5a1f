"""The names of distributions and how similar they are."""

from __future__ import annotations

import functools
from collections.abc import Iterable


@functools.lru_cache(maxsize=8192)
def normalise_distribution(name: str) -> str:
    """The name as PEP 503 compares it: tensorflow_cpu and TensorFlow.CPU are tensorflow-cpu."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def name_with_extras(name: str, extras: Iterable[str]) -> str:
    """The name as an installer takes it: jax[cuda12]; alone without extras."""
    listed = ",".join(extras)
    return f"{name}[{listed}]" if listed else name


_LONG = 7
"""Length from which one letter too many, too few or wrong is a typo and not another name: torchx is not torch."""


def is_typo_of(name: str, known: str) -> bool:
    """Whether `name` is `known` with one typo: two neighbours swapped or, in a long name, one letter added, left out or wrong."""
    if name == known or abs(len(name) - len(known)) > 1:
        return False
    start = next((place for place, (one, other) in enumerate(zip(name, known, strict=False)) if one != other), min(len(name), len(known)))
    mine, theirs = name[start:], known[start:]
    swapped = len(mine) > 1 and mine[:2] == theirs[1::-1] and mine[2:] == theirs[2:]
    changed = mine[1:] == theirs[1:] or mine[1:] == theirs or mine == theirs[1:]
    return swapped or (changed and len(known) >= _LONG)
