"""Counts and names in sentences: "1 GPU", "GPUs 0–3, 6"."""

# ruff: noqa: RUF001, RUF002 -- a dash joins neighbours
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
MAX_SHOWN: Final = 4
"""How much of a long list is shown."""


def count_with_noun(number: int, what: str, many: str = "") -> str:
    """Return a number and its noun: 1 GPU, 8 GPUs; `many` is an irregular plural."""
    return f"{number} {singular_or_plural(number, what, many or f'{what}s')}"


def singular_or_plural(number: int, one: T, many: T) -> T:
    """Return the words for one thing or those for several."""
    return one if number == 1 else many


def joined_words(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def count_list(counts: Iterable[tuple[int, str]]) -> str:
    """Return how many there are of each kind: 4 × NVIDIA L4, 1 × NVIDIA T4."""
    return ", ".join(f"{count} × {kind}" for count, kind in counts)


def first_few(things: Sequence[T]) -> Sequence[T]:
    """Return what is shown of a list that may be long."""
    return things[:MAX_SHOWN]


def few_names(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, and how many more there are of many: "a, b, c and 3 more"."""
    return joined_words(names if len(names) <= MAX_SHOWN else (*names[: MAX_SHOWN - 1], f"{len(names) - MAX_SHOWN + 1} more"))


def first_and_more(names: Sequence[str]) -> str:
    """Return the first name, and how many more there are: "a and 3 more"."""
    return joined_words(names if len(names) == 1 else (names[0], f"{len(names) - 1} more"))


def number_ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order, neighbours joined: 0–2, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def gpu_name_list(gpus: Iterable[tuple[int | None, str]]) -> str:
    """Return the names of GPUs, given the index and the address of each: GPU 3, GPUs 0–3, GPU 0000:3b:00.0."""
    gpus = list(gpus)
    numbered = number_ranges({index for index, _ in gpus if index is not None})
    addresses = dict.fromkeys(address for index, address in gpus if index is None)
    names = ", ".join(filter(None, (numbered, *addresses)))
    return f"{'GPU' if len(set(gpus)) == 1 else 'GPUs'} {names}"
