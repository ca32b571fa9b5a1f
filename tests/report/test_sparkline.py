"""Curves in a line of text."""

# ruff: noqa: RUF001 -- a cross is what is tested
from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudoctor.report.sparkline import ASCII_SIGNS, BLOCK_SIGNS, sparkline


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ((), ""),
        ((1.0,), "▁"),
        ((1.0, 1.0, 1.0), "▁▁▁"),
        ((100.0, 10.0, 1.0), "█▅▁"),
        ((8.0, 4.0, 0.0), "█▅▁"),
        ((-1.0, 1.0), "▁█"),
        ((2.0, "nan", 1.0), "█×▁"),
        (("inf", "nan"), "××"),
    ],
)
def test_heights(values: tuple[float, ...], drawn: str) -> None:
    assert sparkline(values, width=10, plain=False) == drawn


def test_ascii() -> None:
    assert sparkline((100.0, 10.0, "nan", 1.0), width=10, plain=True) == "@+x."


def test_a_long_curve_keeps_its_ends() -> None:
    drawn = sparkline([1000.0 * 0.9**step for step in range(300)], width=8, plain=False)
    assert drawn == "".join(reversed(BLOCK_SIGNS))
    assert sparkline([3.0, 2.0, 1.0], width=1, plain=False) == "▁"


@example(values=[1.5e308, -1.6e308], width=2, plain=False)
@given(st.lists(st.floats() | st.sampled_from(["nan", "inf", "-inf"])), st.integers(0, 40), st.booleans())
def test_any_numbers_are_drawn(values: list[float], width: int, plain: bool) -> None:
    drawn = sparkline(values, width=width, plain=plain)
    assert len(drawn) <= max(width, 1)
    assert set(drawn) <= {*(ASCII_SIGNS if plain else BLOCK_SIGNS), "x" if plain else "×"}
