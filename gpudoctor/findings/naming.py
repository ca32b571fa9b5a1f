"""Counts and names in sentences: "1 GPU", "GPUs 0–3, 6"."""

# ruff: noqa: RUF001, RUF002 -- a dash joins neighbours
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
FEW: Final = 4
"""How much of a long list is shown."""


def counted(number: int, what: str, many: str = "") -> str:
    """Return a number and its noun: 1 GPU, 8 GPUs; `many` is an irregular plural."""
    return f"{number} {agree(number, what, many or f'{what}s')}"


def agree(number: int, one: T, many: T) -> T:
    """Return the words for one thing or those for several."""
    return one if number == 1 else many


def joined(words: Iterable[str]) -> str:
    """Return words as a list in a sentence: "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def tally(counts: Iterable[tuple[int, str]]) -> str:
    """Return how many there are of each kind: 4 × NVIDIA L4, 1 × NVIDIA T4."""
    return ", ".join(f"{count} × {kind}" for count, kind in counts)


def first(things: Sequence[T]) -> Sequence[T]:
    """Return what is shown of a list that may be long."""
    return things[:FEW]


def few(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, and how many more there are of many: "a, b, c and 3 more"."""
    return joined(names if len(names) <= FEW else (*names[: FEW - 1], f"{len(names) - FEW + 1} more"))


def one_of(names: Sequence[str]) -> str:
    """Return the first name, and how many more there are: "a and 3 more"."""
    return joined(names if len(names) == 1 else (names[0], f"{len(names) - 1} more"))


def ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order, neighbours joined: 0–2, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def gpu_names(gpus: Iterable[tuple[int | None, str]]) -> str:
    """Return the names of GPUs, given the index and the address of each: GPU 3, GPUs 0–3, GPU 0000:3b:00.0."""
    gpus = list(gpus)
    numbered = ranges({index for index, _ in gpus if index is not None})
    addresses = dict.fromkeys(address for index, address in gpus if index is None)
    names = ", ".join(filter(None, (numbered, *addresses)))
    return f"{'GPU' if len(set(gpus)) == 1 else 'GPUs'} {names}"
