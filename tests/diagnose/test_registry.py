from __future__ import annotations

import re

import pytest

from gpudoctor.diagnose import RULES
from gpudoctor.diagnose.provide import PROVIDERS
from gpudoctor.diagnose.rule import Rule, parameters

PARTS = ("## Why it matters", "## What to do", "## References")


def test_codes_and_names_are_unique_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
class TestEachRule:
    def test_its_code_and_name_are_well_formed(self, rule: Rule) -> None:
        assert re.fullmatch(r"GD[1-9]\d\d", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|wsl1", rule.name)

    def test_its_page_is_whole(self, rule: Rule) -> None:
        places = [rule.doc.index(part) for part in PARTS]
        assert places == sorted(places)
        assert rule.title
        assert "FILL IN" not in rule.doc
        assert len(rule.title) <= 90
        assert re.search(r"^- https://\S+$", rule.doc[places[-1] :], re.MULTILINE)

    def test_it_asks_only_for_what_can_be_provided(self, rule: Rule) -> None:
        assert rule.by_view or {parameter.type for parameter in parameters(rule.body)} <= set(PROVIDERS)
