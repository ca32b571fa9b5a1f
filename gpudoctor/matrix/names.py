"""Finds a GPU by any of the names people and drivers give it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gpudoctor.matrix.rows import GpuProduct

_NOISE = frozenset({"nvidia", "geforce", "tesla", "gpu", "graphics", "generation", "with", "design", "edition"})
"""Words that tell no two products apart. "Quadro" does: a Quadro RTX 6000 is no RTX 6000 Ada."""
_SAME = {"mobile": "laptop", "notebook": "laptop"}
_SERIES = frozenset({"rtx", "gtx", "gt"})
_TELLING = 4
"""A key as short as "t4" begins too many words to be near them."""
_SEPARATORS = str.maketrans("-_()[]/,", "        ")


def normalise(name: str) -> str:
    """A name without brands, case and separators: "NVIDIA GeForce RTX 4090" and "rtx-4090" are "rtx4090"."""
    return "".join(_words(name))


def keys(product: GpuProduct) -> tuple[str, ...]:
    """The normalised names of a product; also without RTX, GTX or GT where what follows tells it ("4090", "a4000", "6000ada").

    A workstation's bare number does not: "6000" may be a Quadro, an RTX PRO or an Ada.
    """
    bare = product.kind in {"geforce", "laptop"}
    found: dict[str, None] = {}
    for words in map(_words, (product.name, *product.aliases)):
        found["".join(words)] = None
        rest = words[1:] if words[0] in _SERIES else []
        if rest and any(letter.isdigit() for letter in rest[0]) and (bare or len(rest) > 1 or not rest[0].isdigit()):
            found["".join(rest)] = None
    return tuple(found)


def index(products: Iterable[GpuProduct]) -> dict[str, GpuProduct]:
    """The products by every normalised name; products that share one are for `check.problems` to report."""
    return {key: product for product in products for key in keys(product)}


def find(name: str, products: dict[str, GpuProduct]) -> GpuProduct | None:
    """The product of that name; a size at the end ("rtx 3090 24gb") and a needless "Quadro" ("quadro a6000") are accepted."""
    words = _words(name)
    found = _sized(words, products)
    return found if found is not None or "quadro" not in words else _sized([word for word in words if word != "quadro"], products)


def like(name: str, products: dict[str, GpuProduct]) -> tuple[str, ...]:
    """Up to three names of products that resemble `name`, nearest first: those that say more or less, then those spelt alike."""
    typed = normalise(name)
    longer = [key for key in products if typed and (typed in key or (len(key) >= _TELLING and typed.startswith(key)))]
    alike = difflib.get_close_matches(typed, products, n=9, cutoff=0.5)
    nearest = (*sorted(longer, key=lambda key: abs(len(key) - len(typed))), *alike)
    return tuple(dict.fromkeys(products[key].name for key in nearest))[:3]


def _sized(words: list[str], products: dict[str, GpuProduct]) -> GpuProduct | None:
    """The product of these words; where the last is a size, also the product of those before it, if the size is its own."""
    found = products.get("".join(words))
    if found is not None or not words or not words[-1].endswith("gb"):
        return found
    found = products.get("".join(words[:-1]))
    return found if found is not None and found.memory_gib is not None and words[-1] == f"{found.memory_gib:g}gb" else None


def _words(name: str) -> list[str]:
    words = _unit_joined(name.casefold().translate(_SEPARATORS).split())
    return [_SAME.get(word, word) for word in words if word not in _NOISE]


def _unit_joined(words: list[str]) -> Iterator[str]:
    """The words with "24 gb" made "24gb"."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if following in {"gb", "gib"} and word.isdigit():
            yield f"{word}gb"
        elif word not in {"gb", "gib"}:
            yield word
