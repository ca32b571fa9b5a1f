"""Finds a GPU by any name that people and drivers use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from gpudoctor.matrix.machine_rows import GpuProduct

_NOISE_WORDS = frozenset({"nvidia", "geforce", "tesla", "gpu", "graphics", "generation", "with", "design", "edition"})
"""Words that distinguish no products. "Quadro" does: a Quadro RTX 6000 is not an RTX 6000 Ada."""
_KIT_WORDS = frozenset({"developer", "kit", "devkit", "engineering", "reference", "super", "module", "industrial", "series", "nvgpu"})
_OMITTED_WORDS = frozenset({"quadro", "dgx", "hgx"})
"""Words that people leave out of a name, or put before it, without another compute capability being meant."""
_VARIANT = re.compile(r" (\d{1,3}gb|gddr\dx?|hbm\de?|pcie|sxm\d?|cnx|dgxs|fhhl|oem|lhr|lite hash rate|max q|refresh|embedded|rev\.? \w)$")
"""How a name ends where boards with the same chip differ: memory, slot, cooler or revision."""
MAX_NAME_LENGTH = 200
"""Characters of a GPU's name to read; NVML allows 96."""
_OTHER_VENDORS = {
    "AMD": r"(amd|ati) .*|(.* )?(instinct|radeon|firepro)( .*)?|mi\d{2,3}[ax]?( .*)?|r[x79] (vega )?\d{2,4}( .*)?|vega .*|gfx\d\w+",
    "Intel": r"intel .*|(.* )?(arc [ab]\d{3}m?|iris xe|iris|uhd|gaudi ?\d?)( .*)?|data center (gpu )?(max|flex) .*",
    "Apple": r"apple .*|m[1-9]( (pro|max|ultra))?",
    "Google": r"(.* )?tpu.*",
}
"""Names of other vendors' GPUs, without separators; "M4" alone is found earlier as NVIDIA's Tesla M4."""
_ALIKE_IN_LAPTOPS = frozenset({"Pascal", "Turing"})
"""Architectures whose GPUs the driver calls the same in laptops, unless they are Max-Q."""
_SYNONYMS = {"mobile": "laptop", "notebook": "laptop"}
_SERIES = frozenset({"rtx", "gtx", "gt"})
_SHORTEST_KEY = 4
"""A key as short as "t4" begins too many words to count as similar."""
_SEPARATORS = str.maketrans("-_()[]/,", "        ")


def normalise_gpu_name(name: str) -> str:
    """A name without brands, case and separators: "NVIDIA GeForce RTX 4090" and "rtx-4090" become "rtx4090"."""
    return "".join(_name_words(name))


def product_keys(product: GpuProduct) -> tuple[str, ...]:
    """The normalised names of a product, also without RTX, GTX or GT if the rest is unambiguous ("4090", "a4000", "6000ada").

    A workstation's bare number is not: "6000" may be a Quadro, an RTX PRO or an Ada. Nor is a Fermi's: 470 and 580 are driver branches.
    """
    bare = product.kind in {"geforce", "laptop"} and product.architecture != "Fermi"
    found: dict[str, None] = {}
    for words in map(_name_words, (product.name, *product.aliases)):
        found["".join(words)] = None
        rest = words[1:] if words[0] in _SERIES else []
        if rest and any(letter.isdigit() for letter in rest[0]) and (bare or len(rest) > 1 or not rest[0].isdigit()):
            found["".join(rest)] = None
    return tuple(found)


def products_by_key(products: Iterable[GpuProduct]) -> dict[str, GpuProduct]:
    """The products by every normalised name; `consistency.table_contradictions` reports names shared by several."""
    return {key: product for product in products for key in product_keys(product)}


def find_product(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The product of that name, also with a size ("rtx 3090 24gb", "a100 40gb pcie") or a needless "Quadro" ("quadro a6000").

    A Jetson is found by its kit too ("Jetson AGX Orin Developer Kit").
    """
    words = _name_words(name)
    found = _product_with_size(words, products) or _product_with_size(sorted(words, key=lambda word: word.endswith("gb")), products)
    if found is None and "quadro" in words:
        found = _product_with_size([word for word in words if word != "quadro"], products)
    if found is None and not _KIT_WORDS.isdisjoint(words):
        board = _product_with_size([word for word in words if word not in _KIT_WORDS], products)
        found = board if board is not None and board.kind == "jetson" else None
    return found


def is_of_product_line(name: str, line: str) -> bool:
    """Whether a product's name begins with the words of a product line: an "A100-SXM4-40GB" is an A100, an A1000 is not."""
    words, wanted = _name_words(name), _name_words(line)
    return bool(wanted) and words[: len(wanted)] == wanted


def product_of_cut_name(name: str, products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """A product whose name begins with `name`, which ends in "..."; None if such products differ in compute capability."""
    begun = normalise_gpu_name(name.partition("...")[0]) if "..." in name else ""
    family = [product for key, product in products.items() if key.startswith(begun)] if len(begun) > _SHORTEST_KEY else []
    return family[0] if len({product.compute_capability for product in family}) == 1 else None


def product_family(name: str, products: Mapping[str, GpuProduct]) -> tuple[GpuProduct, ...]:
    """The products whose name or alias begins with all of these words; () if they differ in compute capability.

    "RTX 4050" is only sold for laptops; an "RTX 5000" may be a Quadro or an Ada. A DGX or HGX is called after its GPUs.
    A variant that no product has ("RTX 3080 LHR", "RTX 4090 48GB") is left out.
    """
    words = [word for word in _name_words(name) if word not in _OMITTED_WORDS]
    found = _products_beginning_with(words, products)
    while not found and (shorter := _VARIANT.sub("", " ".join(words)).split()) != words:
        words = shorter
        found = _products_beginning_with(words, products)
    if not found and "laptop" in words:
        same = _products_beginning_with([word for word in words if word != "laptop"], products)
        found = tuple(product for product in same if product.kind == "laptop" or product.architecture in _ALIKE_IN_LAPTOPS)
    return found if len({product.compute_capability for product in found}) == 1 else ()


def _products_beginning_with(words: list[str], products: Mapping[str, GpuProduct]) -> tuple[GpuProduct, ...]:
    found = (
        product for product in products.values() if words and any(_begins_with(text, words) for text in (product.name, *product.aliases))
    )
    return tuple({product.name: product for product in found}.values())


def _begins_with(name: str, words: list[str]) -> bool:
    return [word for word in _name_words(name) if word not in _OMITTED_WORDS][: len(words)] == words


def other_vendor(name: str) -> str:
    """The vendor of a GPU that is not NVIDIA's, by its name: "AMD", "Intel", "Apple", "Google"; otherwise empty."""
    typed = " ".join(name.casefold().translate(_SEPARATORS).split())[:MAX_NAME_LENGTH]
    return next((vendor for vendor, form in _OTHER_VENDORS.items() if re.fullmatch(form, typed)), "")


def similar_names(name: str, products: Mapping[str, GpuProduct]) -> tuple[str, ...]:
    """Up to four product names similar to `name`, nearest first: longer or shorter ones, then similar spellings.

    None for another vendor's GPU.
    """
    if other_vendor(name):
        return ()
    typed = normalise_gpu_name(name)
    longer = [key for key in products if typed and (typed in key or (len(key) >= _SHORTEST_KEY and typed.startswith(key)))]
    alike = import_module("difflib").get_close_matches(typed, products, n=9, cutoff=0.5)  # 1 ms, and most names are known
    nearest = (*sorted(longer, key=lambda key: abs(len(key) - len(typed))), *alike)
    return tuple(dict.fromkeys(products[key].name for key in nearest))[:4]


def _product_with_size(words: list[str], products: Mapping[str, GpuProduct]) -> GpuProduct | None:
    """The product of these words; if the last one is a size, also the product of the others if the size is right.

    The same Jetson module is sold with several sizes.
    """
    found = products.get("".join(words))
    if found is not None or not words or not words[-1].endswith("gb"):
        return found
    found = products.get("".join(words[:-1]))
    if found is None or (found.kind != "jetson" and (found.memory_gib is None or words[-1] != f"{found.memory_gib:g}gb")):
        return None
    return found


def _name_words(name: str) -> list[str]:
    words = _words_with_sizes(name.casefold().translate(_SEPARATORS).split())
    return [_SYNONYMS.get(word, word) for word in words if word not in _NOISE_WORDS]


def _words_with_sizes(words: list[str]) -> Iterator[str]:
    """The words with "24 gb" joined to "24gb", as is "24g"."""
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if following in {"gb", "gib"} and word.isdigit():
            yield f"{word}gb"
        elif word not in {"gb", "gib"}:
            yield f"{word}b" if re.fullmatch(r"\d{1,3}g", word) else word
