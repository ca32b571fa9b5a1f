"""Measured figures have three digits, a prefix that fits, and a unit."""

from __future__ import annotations

import pytest

from gpudoctor.report.amounts import amount


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (255e12, "FLOP/s", "255 TFLOP/s"),
        (67.04e12, "FLOP/s", "67 TFLOP/s"),
        (1234.5e12, "FLOP/s", "1,234 TFLOP/s"),
        (989e9, "FLOP/s", "989 GFLOP/s"),
        (3.349e12, "B/s", "3.35 TB/s"),
        (25.13e9, "B/s", "25.1 GB/s"),
        (1e6, "B/s", "1 MB/s"),
        (1410, "MHz", "1,410 MHz"),
        (999, "MHz", "999 MHz"),
    ],
)
def test_a_figure_in_words(value: float, unit: str, words: str) -> None:
    assert amount(value, unit) == words
