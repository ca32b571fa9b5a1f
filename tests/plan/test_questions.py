"""Whether combinations work, and why not, over the shipped tables: answers from release notes, metadata and support matrices."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.findings import Severity, Verdict
from gpudoctor.plan import Combination
from tests.plan.samples import judged

QUESTIONS = list(csv.DictReader(Path(__file__).with_name("questions.csv").read_text(encoding="utf-8").splitlines()))
"""`cause` is the first root cause, "unknown", or empty if it works; `fact` is what decides."""
_OPTIONS = set(Combination.__struct_fields__)


def _answer(question: dict[str, str]) -> str:
    stated = {name: value for name, value in question.items() if value and name in _OPTIONS - {"requirements"}}
    gpus = (question["gpu"],) if question["gpu"] else ()
    try:
        found = judged(*question["requirements"].split(), gpus=gpus, **stated)
    except UsageError as error:
        return str(error)
    if found.verdict in {Verdict.READY, Verdict.DEGRADED}:
        return ""
    errors = [finding.name for finding in found.root_causes if finding.severity is Severity.ERROR]
    return errors[0] if errors else found.verdict.value


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: f"{question['requirements']} on {question['gpu'] or 'any'}")
def test_the_answer_is_known(question: dict[str, str]) -> None:
    assert _answer(question) == question["cause"], question["fact"]
