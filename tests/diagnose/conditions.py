"""What the answer of a rule depends on: one fact of a recorded machine changed at a time, and how the answer changes.

A number stands twice: the last value that leaves the kind of answer as it is, and the first that does not. scripts/record_rules finds and writes them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from gpudoctor.derive import MachineView
from gpudoctor.diagnose import diagnose
from gpudoctor.diagnose.engine import run_rules
from gpudoctor.diagnose.required_conditions import checked_conditions
from gpudoctor.diagnose.rules import RULES
from gpudoctor.diagnose.unchecked import unchecked_things
from gpudoctor.findings import OutcomeKind, Rung
from gpudoctor.snapshot import decode_snapshot
from tests.machines import delta, golden, store
from tests.shipped import shared_matrix

FOLDER: Final = Path(__file__).parent / "conditions"
UNKNOWN: Final = {"type": "missing", "cause": "timed-out", "reason": "took too long"}
_HEADING: Final = "== "
_CHANGE: Final = "* "
Answer = Callable[[MachineView], Iterator[str]]


def _of_rule(name: str) -> Answer:
    def answer(machine: MachineView) -> Iterator[str]:
        for run in run_rules(tuple(rule for rule in RULES if rule.name == name), machine):
            yield from ("\n".join(_without_commands_that_verify(golden.finding_text(finding))) for finding in run.findings)
            if run.outcome.kind is not OutcomeKind.FOUND:
                yield f"{run.outcome.kind.value} {run.outcome.subject.key} {run.outcome.reason}"

    return answer


def _without_commands_that_verify(finding: str) -> Iterator[str]:
    """Yield the lines of a finding, but not those that each rule gets in the same way."""
    return (line for line in finding.splitlines() if not line.startswith("    verify: "))


def _unchecked(machine: MachineView) -> Iterator[str]:
    yield from (f"not judged: {one.what}: {one.reason}" for one in unchecked_things(machine))


def _whole(machine: MachineView) -> Iterator[str]:
    found = diagnose(machine.observed, machine.matrix, machine.policy)
    yield f"{found.verdict.value}"
    yield golden.text(found)


_REQUIRED: Final = (
    "driver>=550",
    "gpus>=2",
    "gpus==1",
    "memory>=40GiB",
    "cc>=8.0",
    "tensorflow>=2.18",
    "torch",
    "fit=resnet50,bf16,batch=64",
)


def _required(machine: MachineView) -> Iterator[str]:
    asked = MachineView(machine.observed, machine.matrix, msgspec.structs.replace(machine.policy, require=_REQUIRED))
    for rung in (Rung.LIBCUDA, Rung.TRAINED):
        yield from (
            f"{condition.requirement.text}, {rung.value}: {condition.answer.value}: {condition.seen} | {condition.where}"
            for condition in checked_conditions(asked, rung)
        )


ABOUT_ALL: Final[dict[str, Answer]] = {"not-judged": _unchecked, "required": _required, "everything": _whole}
QUESTIONS: Final[dict[str, Answer]] = {**{rule.name: _of_rule(rule.name) for rule in RULES}, **ABOUT_ALL}
"""What is asked about a machine: each rule; what nothing judges, whether requirements are met, the whole diagnosis."""


def answer(question: str, name: str, changes: delta.Changes | None = None) -> str:
    """Return the answer about a recorded machine with these changes. Raises UsageError if they make no snapshot of it."""
    document = msgspec.json.decode(store.RECORDED.snapshot(name))
    delta.apply({pointer: UNKNOWN if value == "unknown" else value for pointer, value in (changes or {}).items()}, document)
    machine = MachineView(decode_snapshot(msgspec.json.encode(document)), shared_matrix(), store.policy(name))
    return "\n".join(QUESTIONS[question](machine))


def difference(before: str, after: str) -> str:
    """Return what of an answer changes, line by line; of a finding that is gone only the first line."""
    old, new = _blocks(before), _blocks(after)
    lines: list[str] = []
    for key in {**old, **new}:
        if key not in new:
            lines.append(f"- {old[key][0]}")
        else:
            marked = difflib.unified_diff(old.get(key, []), new[key], n=0, lineterm="")
            lines += [f"{line[0]} {line[1:]}" for line in marked if not line.startswith(("---", "+++", "@@"))]
    return "\n".join(lines) or "the same"


def _blocks(answer: str) -> dict[str, list[str]]:
    blocks: dict[str, list[str]] = {}
    key = ""
    for line in filter(None, answer.splitlines()):
        key = key if line.startswith(" ") else line.partition(" (")[0].partition(": ")[0]
        blocks.setdefault(key, []).append(line)
    return blocks


Case = tuple[str, Any]
"""The place of a changed fact, as a JSON pointer, and its value then: None removes it."""
Told = dict[tuple[str, str], dict[Case, str]]
"""How answers change: by question and machine, then by change."""
_OF_FAMILY: Final = {rule.name: rule.family for rule in RULES}
BESIDE: Final = "beside"
"""The family of the questions that are no rules."""
FAMILIES: Final = sorted({*_OF_FAMILY.values(), BESIDE})


def family_of(question: str) -> str:
    """Return the family whose file holds a question's answers."""
    return _OF_FAMILY.get(question, BESIDE)


def file_of(family: str) -> Path:
    """Return the file of a family."""
    return FOLDER / f"{family}.txt"


@cache
def kept(family: str) -> Told:
    """Return what a family's file holds."""
    told: Told = {}
    for part in f"\n{file_of(family).read_text(encoding='utf-8')}".split("\n" + _HEADING)[1:]:
        heading, *cases = part.split("\n" + _CHANGE)
        question, _, machine = heading.strip().partition(" on ")
        told[question, machine] = dict(map(_case, cases))
    return told


def _case(text: str) -> tuple[Case, str]:
    change, _, said = text.partition("\n")
    pointer, _, value = change.partition(" = ")
    return (pointer, json.loads(value)), said.strip("\n")


def keep(family: str, told: Told) -> None:
    """Write a family's file."""
    FOLDER.mkdir(exist_ok=True)
    parts = [
        f"{_HEADING}{question} on {machine}\n"
        + "".join(f"{_CHANGE}{pointer} = {json.dumps(value)}\n{said}\n" for (pointer, value), said in cases.items())
        for (question, machine), cases in sorted(told.items())
    ]
    file_of(family).write_text("\n".join(parts), encoding="utf-8")
    kept.cache_clear()
