"""Counts and names in sentences."""

# ruff: noqa: RUF001 -- typography is what is tested
from __future__ import annotations

import pytest

from gpudoctor.findings.wording import (
    MAX_SHOWN,
    count_with_noun,
    few_names,
    first_and_more,
    first_few,
    gpu_name_list,
    joined_words,
    number_ranges,
)


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 0], "0–1"), (range(8), "0–7"), ([7, 0, 1, 2, 5], "0–2, 5, 7"), ([1, 1], "1, 1")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert number_ranges(numbers) == text


@pytest.mark.parametrize(
    ("gpus", "text"),
    [
        ([(3, "a")], "GPU 3"),
        ([(3, "a"), (3, "a")], "GPU 3"),
        ([(1, "b"), (0, "a"), (5, "c")], "GPUs 0–1, 5"),
        ([(None, "0000:3b:00.0")], "GPU 0000:3b:00.0"),
        ([(0, "a"), (None, "0000:3b:00.0")], "GPUs 0, 0000:3b:00.0"),
    ],
)
def test_gpu_names(gpus: list[tuple[int | None, str]], text: str) -> None:
    assert gpu_name_list(gpus) == text


def test_counted() -> None:
    assert (count_with_noun(1, "GPU"), count_with_noun(0, "GPU"), count_with_noun(2, "GPU")) == ("1 GPU", "0 GPUs", "2 GPUs")
    assert (count_with_noun(1, "process", "processes"), count_with_noun(2, "process", "processes")) == ("1 process", "2 processes")


def test_joined() -> None:
    assert (joined_words(["a"]), joined_words(["a", "b"]), joined_words(["a", "b", "c"])) == ("a", "a and b", "a, b and c")


@pytest.mark.parametrize("number", range(1, 2 * MAX_SHOWN))
def test_a_long_list_is_cut_and_says_how_much_is_left_out(number: int) -> None:
    names = [f"n{place}" for place in range(number)]
    shown, _, rest = few_names(names).replace(", ", " and ").rpartition(" and ")
    every = [*shown.split(" and "), rest] if shown else [rest]
    left_out = int(rest.removesuffix(" more")) if rest.endswith(" more") else 0
    assert every == names or (every[:-1] == names[: MAX_SHOWN - 1] and left_out == number - MAX_SHOWN + 1 > 1)
    assert len(every) == min(number, MAX_SHOWN)
    assert list(first_few(names)) == names[:MAX_SHOWN]


def test_one_of() -> None:
    assert (first_and_more(["a"]), first_and_more(["a", "b"]), first_and_more(["a", "b", "c"])) == ("a", "a and 1 more", "a and 2 more")
