"""Finds a GPU by any of the names people and drivers give it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gpudoctor.matrix.rows import GpuProduct

_BRANDS = {"nvidia", "geforce", "tesla", "quadro", "gpu", "graphics", "generation"}
_SEPARATORS = str.maketrans("-_()[]/,", "        ")


def normalise(name: str) -> str:
    """A name without brands, case and separators: "NVIDIA GeForce RTX 4090" and "rtx-4090" are "rtx4090"."""
    return "".join(_words(name))


def index(products: Iterable[GpuProduct]) -> dict[str, GpuProduct]:
    """The products by every normalised name; products that share an alias are for `check.problems` to report."""
    return {normalise(name): product for product in products for name in (product.name, *product.aliases)}


def find(name: str, products: dict[str, GpuProduct]) -> GpuProduct | None:
    """The product of that name; a size at the end ("rtx 3090 24gb") is accepted where it is the product's own."""
    words = _words(name)
    found = products.get("".join(words))
    if found is not None or not words or not words[-1].endswith("gb"):
        return found
    found = products.get("".join(words[:-1]))
    return found if found is not None and found.memory_gib is not None and words[-1] == f"{found.memory_gib:g}gb" else None


def like(name: str, products: dict[str, GpuProduct]) -> tuple[str, ...]:
    """Up to three names of products that resemble `name`, nearest first."""
    nearest = difflib.get_close_matches(normalise(name), products, n=9, cutoff=0.5)
    return tuple(dict.fromkeys(products[key].name for key in nearest))[:3]


def _words(name: str) -> list[str]:
    return [word for word in _unit_joined(name.casefold().translate(_SEPARATORS).split()) if word not in _BRANDS]


def _unit_joined(words: list[str]) -> Iterator[str]:
    """The words with "24 gb" made "24gb"."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if following in {"gb", "gib"} and word.isdigit():
            yield f"{word}gb"
        elif word not in {"gb", "gib"}:
            yield word
