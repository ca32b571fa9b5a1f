"""What is known of a model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fit.model import peak_moments


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 1000)), min_size=1, max_size=20), st.integers(0, 100), st.integers(0, 100))
def test_the_corners_hold_the_greatest_sum_of_activations_and_gradients(points: list[tuple[int, int]], batch: int, size: int) -> None:
    alive, present = (max(point[place] for point in points) for place in (0, 1))
    greatest = max(batch * kept + size * there for kept, there in points)
    assert max(batch * kept * alive + size * there * present for kept, there in peak_moments(points)) == pytest.approx(greatest)
