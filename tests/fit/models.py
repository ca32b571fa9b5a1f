"""The presets for samples of their usual size. A test that needs one counts it: all take as long as it takes to collect 3,000 tests."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from hypothesis import strategies as st

from gpudoctor.fit.counted_models import SampleSize
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import PRESETS, model_of_name


@cache
def preset(name: str) -> Model:
    """Return what is known of a preset."""
    return model_of_name(name, SampleSize())


def presets(names: Collection[str] = PRESETS) -> st.SearchStrategy[Model]:
    """Return the strategy that draws from these presets."""
    return st.sampled_from(list(names)).map(preset)
