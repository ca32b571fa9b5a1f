"""Suggestions for mistyped names."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose.rules import RULES
from gpudoctor.suggestions import alternatives_text, nearest_names, suggestion
from tests.seams.every import every

NAMES = [rule.name for rule in RULES]


@every("name", NAMES)
def test_every_rule_is_found_with_a_letter_left_out(name: str) -> None:
    assert nearest_names(name[:2] + name[3:], NAMES)[0] == name


@pytest.mark.parametrize(
    ("typed", "meant"), [("Driver_To_Old", "driver-too-old"), ("drivr-too-old", "driver-too-old"), ("no-gpus", "no-gpu")]
)
def test_case_and_underscores_do_not_matter(typed: str, meant: str) -> None:
    assert nearest_names(typed, NAMES) == (meant,)


def test_names_that_are_equally_near_are_all_suggested() -> None:
    assert suggestion("gpu-too-old-for", ["gpu-too-old-for-build", "gpu-too-old-for-triton"], "") == (
        "did you mean gpu-too-old-for-build or gpu-too-old-for-triton?"
    )


def test_alternatives_are_a_list() -> None:
    assert [alternatives_text("abc"[:count]) for count in range(4)] == ["", "a", "a or b", "a, b or c"]


def test_nothing_near() -> None:
    assert suggestion("zzzz", NAMES, "`gpudoctor rules` lists them.") == "`gpudoctor rules` lists them."
    assert nearest_names("", NAMES) == ()
