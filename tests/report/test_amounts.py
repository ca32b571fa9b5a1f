"""Measured figures have three digits, a prefix that fits, and a unit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report.amounts import amount_text


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (255e12, "FLOP/s", "255 TFLOP/s"),
        (67.04e12, "FLOP/s", "67 TFLOP/s"),
        (1234.5e12, "FLOP/s", "1,234 TFLOP/s"),
        (989e9, "FLOP/s", "989 GFLOP/s"),
        (3.349e12, "B/s", "3.35 TB/s"),
        (25.13e9, "B/s", "25.1 GB/s"),
        (999.4e9, "B/s", "999 GB/s"),
        (999.7e9, "B/s", "1,000 GB/s"),
        (1e12, "B/s", "1 TB/s"),
        (1e9, "FLOP/s", "1 GFLOP/s"),
        (5e8, "FLOP/s", "0.5 GFLOP/s"),
        (1e6, "B/s", "1 MB/s"),
        (4.56e5, "B/s", "0.456 MB/s"),
        (0, "B/s", "0 MB/s"),
        (4.12e-05, "s", "0.0412 ms"),
        (0.25, "s", "250 ms"),
        (0.9997, "s", "1,000 ms"),
        (1, "s", "1 s"),
        (1234.5, "s", "1,234 s"),
        (1410, "MHz", "1,410 MHz"),
        (999, "MHz", "999 MHz"),
    ],
)
def test_a_figure_in_words(value: float, unit: str, words: str) -> None:
    assert amount_text(value, unit) == words


@given(st.floats(min_value=1e5, max_value=1e18), st.sampled_from(["FLOP/s", "B/s", "s", "MHz", "images/s"]))
def test_a_large_figure_has_no_exponent(value: float, unit: str) -> None:
    number = amount_text(value, unit).partition(" ")[0]
    assert "e" not in number
