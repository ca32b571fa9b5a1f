"""Counts and names in sentences."""

# ruff: noqa: RUF001 -- typography is what is tested
from __future__ import annotations

import pytest

from gpudoctor.findings.naming import counted, gpu_names, joined, ranges


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 0], "0–1"), (range(8), "0–7"), ([7, 0, 1, 2, 5], "0–2, 5, 7"), ([1, 1], "1, 1")]
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


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
    assert gpu_names(gpus) == text


def test_counted() -> None:
    assert (counted(1, "GPU"), counted(0, "GPU"), counted(2, "GPU")) == ("1 GPU", "0 GPUs", "2 GPUs")
    assert (counted(1, "process", "processes"), counted(2, "process", "processes")) == ("1 process", "2 processes")


def test_joined() -> None:
    assert (joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])) == ("a", "a and b", "a, b and c")
