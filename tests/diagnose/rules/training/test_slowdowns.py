from __future__ import annotations

import pytest

from gpudoctor.derive.slowdowns import HeldTime
from gpudoctor.diagnose.rules.training.slowdowns import duration_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (119.9, "119.9 s"), (120, "2 min"), (7199, "120 min"), (7200, "2.0 h"), (12_960_000, "3600.0 h")],
)
def test_a_time_is_told_in_the_unit_in_which_people_tell_it(seconds: float, text: str) -> None:
    assert duration_text(HeldTime(total=round(seconds * 1e9), grown=0)) == text
