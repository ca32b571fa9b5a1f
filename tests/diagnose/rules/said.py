"""What each rule says in its own tests, word for word in a file for each family: a changed condition, place or command is one diff."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Diagnosis, OutcomeKind
from tests.machines import golden

HERE: Final = Path(__file__).parent
RECORDING: Final = "GPUDOCTOR_RECORD_RULES" in os.environ
"""Whether the files are written, not compared: scripts/record_rules."""
_HEADING: Final = "== "


def text(module: str, diagnoses: Iterable[Diagnosis]) -> str:
    """Return what the rule that a test module is named after, or else its family, said in some diagnoses, without repeats."""
    rules = _of_module(module)
    return "\n".join(dict.fromkeys(block for diagnosis in diagnoses for block in _blocks(diagnosis, rules)))


@cache
def _of_module(module: str) -> frozenset[str]:
    family, name = module.rsplit(".", 2)[-2:]
    own = frozenset(rule.name for rule in RULES if rule.name == name.removeprefix("test_").replace("_", "-"))
    return own or frozenset(rule.name for rule in RULES if rule.family == family)


def _blocks(diagnosis: Diagnosis, rules: frozenset[str]) -> Iterator[str]:
    yield from (golden.finding_text(finding) for finding in diagnosis.findings if finding.name in rules)
    for outcome in diagnosis.outcomes:
        if outcome.name in rules and outcome.kind not in {OutcomeKind.FOUND, OutcomeKind.PASSED}:
            yield f"{outcome.kind.value}: {f'{outcome.code} {outcome.subject.key}'.rstrip()}: {outcome.reason}"


def file_of(family: str) -> Path:
    """Return the file of a family."""
    return HERE / family / "said.txt"


@cache
def kept(family: str) -> dict[str, dict[str, str]]:
    """Return the text of each test, by module; a test in which nothing was said has none."""
    modules: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for part in f"\n{file_of(family).read_text(encoding='utf-8')}".split("\n" + _HEADING)[1:]:
        name, _, told = part.partition("\n")
        module, _, test = name.partition("::")
        modules[module][test] = told.strip("\n")
    return modules


def keep(family: str, texts: dict[tuple[str, str], str]) -> None:
    """Write the file of a family."""
    parts = (f"{_HEADING}{module}::{test}\n{told}\n" for (module, test), told in sorted(texts.items()) if told)
    file_of(family).write_text("\n".join(parts), encoding="utf-8")
