"""Whether combinations work, and why not, over the shipped tables: answers from release notes, metadata and support matrices."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.findings import Severity, Verdict
from gpudoctor.plan import Combination
from tests import told
from tests.plan.samples import checked

QUESTIONS = list(csv.DictReader(Path(__file__).with_name("questions.csv").read_text(encoding="utf-8").splitlines()))
"""`cause` is the first root cause, "unknown", or empty if it works; `fact` is what decides."""
_OPTIONS = set(Combination.__struct_fields__)


def answer(question: dict[str, str]) -> tuple[str, str]:
    """Return the first root cause of a combination, "unknown" or nothing, and what is said; of a contradiction the error alone."""
    stated = {name: value for name, value in question.items() if value and name in _OPTIONS - {"requirements"}}
    gpus = (question["gpu"],) if question["gpu"] else ()
    try:
        found = checked(*question["requirements"].split(), gpus=gpus, **stated)
    except UsageError as error:
        return str(error), ""
    errors = [finding.name for finding in found.root_causes if finding.severity is Severity.ERROR] or [found.verdict.value]
    return "" if found.verdict in {Verdict.READY, Verdict.DEGRADED} else errors[0], told.text(found)


def name_of(question: dict[str, str]) -> str:
    """Return the combination in one line."""
    return ", ".join(value for name, value in question.items() if value and name not in {"cause", "fact"})


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question['requirements']} on {question['gpu'] or 'any'}")
def test_the_answer_is_known(question: dict[str, str]) -> None:
    cause, said = answer(question)
    assert cause == question["cause"], question["fact"]
    assert said == told.kept(told.OF_QUESTIONS).get(name_of(question), ""), "if the new words are the better ones: scripts/record_rules"
