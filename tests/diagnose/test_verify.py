"""The command that verifies a fix answers yes or no: it is run as it stands, before the cause is gone and after."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.machines.build import examine
from tests.machines.recipes import RECIPES, Recipe

CURED: dict[str, Callable[[Recipe], Recipe]] = {
    "everything-masked": lambda broken: replace(broken, environment={}),
    "driver-470-tensorflow-cuda-12": lambda _: RECIPES["driver-525-at-the-floor"],
    "exclusive-and-taken": lambda _: RECIPES["healthy-one"],
    "tensorflow-cpu-installed": lambda _: RECIPES["healthy-one"],
}
"""Machines, and the same after their first fix."""


@pytest.mark.parametrize("name", CURED)
def test_a_verify_command_tells_a_cured_machine_from_a_broken_one(name: str, tmp_path: Path) -> None:
    broken = RECIPES[name]
    _, report = examine(broken, tmp_path / "first")
    root = next(finding for finding in report["findings"] if not finding["because_of"] and finding["severity"] != "note")
    words = shlex.split(next(fix["verify"] for fix in root["fixes"] if fix["verify"]))
    assert words[:2] == ["gpudoctor", "check"]
    asked = [word for word in words[2:] if word != "--no-smoke"]  # the recipe says --level look, which is the same
    place = asked.index("--python")
    del asked[place : place + 2]  # the environment is built again
    before, _ = examine(broken, tmp_path / "before", *asked)
    after, _ = examine(CURED[name](broken), tmp_path / "after", *asked)
    assert (before, after) == (1, 0)
