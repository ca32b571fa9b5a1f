"""The step that installs what a plan changes, in the environment that is there."""

from __future__ import annotations

import pytest

from gpudoctor.plan import Combination
from gpudoctor.plan.fix_steps import CombinationSteps
from tests.plan.planned import MATRIX

TOOLS = "python3.12 -m pip install setuptools wheel packaging ninja"


@pytest.mark.parametrize(
    ("after", "commands"),
    [
        (("torch==2.9.1",), ["python3.12 -m pip install torch==2.9.1"]),
        (
            ("torch==2.9.1", "gptqmodel==5.8.0"),
            ["python3.12 -m pip install torch==2.9.1", TOOLS, "python3.12 -m pip install --no-build-isolation gptqmodel==5.8.0"],
        ),
        (("torch==2.8.0", "gptqmodel==5.8.0"), [TOOLS, "python3.12 -m pip install --no-build-isolation gptqmodel==5.8.0"]),
    ],
)
def test_what_is_built_against_a_framework_follows_it_with_its_tools(after: tuple[str, ...], commands: list[str]) -> None:
    stated = Combination(requirements=("torch==2.8.0",), python="3.12")
    steps = CombinationSteps(stated, MATRIX, (), lambda _: None)
    (step,) = steps.packages(Combination(requirements=after, python="3.12"))
    assert step.command.split(" && ") == commands
