"""What is known of a model."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fit.model import Affine

SIZES = st.integers(min_value=0, max_value=1 << 50)


@settings(deadline=None, max_examples=50)
@given(SIZES, SIZES, st.integers(min_value=1, max_value=4096))
def test_a_line_is_found_from_its_values_at_a_batch_and_at_twice_that_batch(slope: int, fixed: int, batch: int) -> None:
    line = Affine(slope, fixed)
    assert Affine.through(batch, line.at(batch), line.at(2 * batch)) == line
