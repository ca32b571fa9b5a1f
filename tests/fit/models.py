"""The presets for samples of their usual size. A test that needs one counts it: all take as long as it takes to collect 3,000 tests."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from hypothesis import strategies as st

from gpudoctor.fit.counted import Sample
from gpudoctor.fit.model import Model
from gpudoctor.fit.presets import PRESETS, model


@cache
def preset(name: str) -> Model:
    """Return what is known of a preset."""
    return model(name, Sample())


def presets(names: Collection[str] = PRESETS) -> st.SearchStrategy[Model]:
    """Return the strategy that draws from these presets."""
    return st.sampled_from(list(names)).map(preset)
