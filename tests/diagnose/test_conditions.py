"""The answer of each rule changes with the facts on which it depends, at the values that are kept."""

from __future__ import annotations

from tests.diagnose import conditions
from tests.seams.every import every

MACHINES = [(family, question, machine) for family in conditions.FAMILIES for question, machine in conditions.kept(family)]


@every("asked", MACHINES)
def test_an_answer_changes_with_the_facts_on_which_it_depends(asked: tuple[str, str, str]) -> None:
    family, question, machine = asked
    before = conditions.answer(question, machine)
    cases = conditions.kept(family)[question, machine]
    said = {
        (pointer, value): conditions.difference(before, conditions.answer(question, machine, {pointer: value})) for pointer, value in cases
    }
    assert said == cases, "if the new answers are the better ones: scripts/record_rules"


IN_TEXTS_ALONE = {"gpu-memory-preallocation", "mkl-version-incompatible"}
"""Rules whose recorded machine is a text that names the fault: tests/read/causes/told.txt holds what is said."""


def test_every_rule_has_conditions() -> None:
    asked = {question for family in conditions.FAMILIES for question, _ in conditions.kept(family)}
    assert asked == conditions.QUESTIONS.keys() - IN_TEXTS_ALONE
