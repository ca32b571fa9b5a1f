"""Whether combinations work, and why not, over the shipped tables: answers from release notes, metadata and support matrices."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy, Severity, Verdict
from gpudoctor.plan import Combination, check_combination
from tests import told
from tests.seams.every import every

QUESTIONS = list(csv.DictReader(Path(__file__).with_name("questions.csv").read_text(encoding="utf-8").splitlines()))
"""`cause` is the first root cause, "unknown", or empty if it works; `fact` is what decides."""
_OPTIONS = set(Combination.__struct_fields__)


def asked(question: dict[str, str]) -> Combination:
    """Return the combination that a question is about."""
    stated: dict[str, Any] = {name: value for name, value in question.items() if value and name in _OPTIONS - {"requirements"}}
    gpus = (question["gpu"],) if question["gpu"] else ()
    return Combination(requirements=tuple(question["requirements"].split()), gpus=gpus, **stated)


def answer(question: dict[str, str]) -> tuple[str, str]:
    """Return the first root cause of a combination, "unknown" or nothing, and what is said; of a contradiction the error alone."""
    try:
        found = check_combination(asked(question), Policy(level=None)).diagnosis
    except UsageError as error:
        return str(error), ""
    errors = [finding.name for finding in found.root_causes if finding.severity is Severity.ERROR] or [found.verdict.value]
    return "" if found.verdict in {Verdict.READY, Verdict.DEGRADED} else errors[0], told.text(found)


def name_of(question: dict[str, str]) -> str:
    """Return the combination in one line."""
    return ", ".join(value for name, value in question.items() if value and name not in {"cause", "fact"})


@every("question", QUESTIONS)
def test_the_answer_is_known(question: dict[str, str]) -> None:
    cause, said = answer(question)
    assert cause == question["cause"], question["fact"]
    assert said == told.kept(told.OF_QUESTIONS).get(name_of(question), ""), "if the new words are the better ones: scripts/record_rules"
