"""Numbers in sentences, with few digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.digits import short_number


@pytest.mark.parametrize(
    ("value", "count", "words"),
    [
        (0, 3, "0"),
        (0.012345, 3, "0.0123"),
        (3.349, 3, "3.35"),
        (999.4, 3, "999"),
        (999.5, 3, "1,000"),
        (-999.7, 3, "-1,000"),
        (1234.5, 3, "1,234"),
        (12.3, 2, "12"),
        (99.4, 2, "99"),
        (99.6, 2, "100"),
        (123, 2, "123"),
    ],
)
def test_a_number_in_words(value: float, count: int, words: str) -> None:
    assert short_number(value, count) == words


@given(st.floats(min_value=1e-3, max_value=1e15), st.integers(1, 6))
def test_a_number_is_near_what_is_written_and_has_no_exponent(value: float, count: int) -> None:
    text = short_number(value, count)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.5 * 10.0 ** (1 - count) + 1e-12)
