"""The files of what rules say in their tests are complete, and name no test that is gone."""

from __future__ import annotations

import re

import pytest

from gpudoctor.diagnose.rules import RULES
from tests.diagnose.rules import said

FAMILIES = sorted({module.parent.name for module in said.HERE.glob("*/test_*.py")})

OF_RULES = {f"test_{rule.body.__name__}" for rule in RULES}


@pytest.mark.parametrize("family", FAMILIES)
def test_the_words_of_every_test_module_are_recorded(family: str) -> None:
    tests = {file.stem: re.findall(r"^ *def (test_\w+)", file.read_text(), re.MULTILINE) for file in (said.HERE / family).glob("test_*.py")}
    recorded = said.kept(family)
    assert tests.keys() & OF_RULES <= recorded.keys() <= tests.keys(), "scripts/record_rules tests"
    names = [(module, re.sub(r"^.*::|\[.*", "", name)) for module, names in recorded.items() for name in names]
    gone = [(module, name) for module, name in names if name not in tests[module]]
    assert gone == [], "scripts/record_rules tests"
