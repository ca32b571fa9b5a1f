"""Keeps the fixes of an assumed environment that lead to one that works, and has the planner find one where none does."""

from __future__ import annotations

from collections import Counter

import msgspec

from gpudoctor.derive.specifiers import requirement
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import DOWNLOAD, Diagnosis, Finding, Fix, FixKind, Policy, Severity, Verdict
from gpudoctor.findings.actions import Action
from gpudoctor.findings.naming import joined
from gpudoctor.matrix import Matrix
from gpudoctor.plan.machine import machine
from gpudoctor.plan.model import Combination
from gpudoctor.plan.propose import Question, propose
from gpudoctor.plan.suppose import suppose
from gpudoctor.report.plan import Environment


def cured(found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> Diagnosis:
    """Return the diagnosis of an assumed combination; a fix that would install what is broken in another way is none."""
    if found.verdict is not Verdict.BROKEN:
        return found
    cure = _Cure(found, combination, matrix, policy)
    return msgspec.structs.replace(found, findings=tuple(map(cure.finding, found.findings)))


class _Cure:
    def __init__(self, found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> None:
        listed = tuple(text for text in combination.requirements if _is_listed(text, matrix))
        self._combination = msgspec.structs.replace(combination, requirements=listed)
        self._matrix = matrix
        self._policy = policy
        self._errors = _errors(found)
        self._planned: list[Fix] | None = None

    def finding(self, one: Finding) -> Finding:
        """Return the finding with fixes that lead on."""
        with_a_driver = {place + 1 for place, fix in enumerate(one.fixes) if fix.action is Action.UPDATE_DRIVER}
        kept = tuple(
            fix
            for place, fix in enumerate(one.fixes)
            if (place in with_a_driver and fix.kind is one.fixes[place - 1].kind) or not self._breaks(fix, one.code)
        )
        if len(kept) == len(one.fixes):
            return one
        changing = [place for place, fix in enumerate(kept) if fix.kind is not FixKind.CHECK]
        if changing:
            first = changing[0]
            kept = (*kept[:first], msgspec.structs.replace(kept[first], kind=FixKind.FIX), *kept[first + 1 :])
        else:
            kept = (*kept, *self._from_the_planner()) if self._combination.gpus else one.fixes
        return msgspec.structs.replace(one, fixes=kept)

    def _breaks(self, fix: Fix, code: str) -> bool:
        """Return whether a fix installs releases with which something else is broken than before, or still the same."""
        if not fix.installs:
            return False
        pins = [one for one in map(requirement, fix.installs) if one is not None and one.specifier]
        stated = {one.name: one.text for one in map(requirement, self._combination.requirements) if one is not None}
        stated |= {one.name: one.text for one in pins}
        applied = msgspec.structs.replace(
            self._combination, requirements=tuple(stated.values()), python=fix.python or self._combination.python
        )
        try:
            after = _errors(diagnose(suppose(applied, self._matrix, ""), self._matrix, self._policy))
        except UsageError:  # the pins contradict what was stated
            return True
        return bool(after - (self._errors - Counter([code])))

    def _from_the_planner(self) -> list[Fix]:
        """Return the fix that installs what the planner finds for the same packages."""
        if self._planned is None:
            found = self._environment()
            self._planned = [self._installing(found)] if found else []
        return self._planned

    def _installing(self, found: Environment) -> Fix:
        pins = tuple(pin.requirement for pin in found.pins)
        return Fix(self._title(found), found.commands.pip, (DOWNLOAD,), installs=pins, python=found.python)

    def _title(self, found: Environment) -> str:
        pins = {one.name for one in (requirement(pin.requirement) for pin in found.pins) if one is not None}
        stated = (one.name for one in map(requirement, self._combination.requirements) if one is not None)
        without = [name for name in stated if name not in pins and name != "numpy"]
        return f"Install what works here: {found.name}{f', without {joined(without)}' if without else ''}"

    def _environment(self) -> Environment | None:
        question = Question(
            requirements=self._combination.requirements,
            machine=machine(self._combination, self._matrix),
            python=self._combination.python or "",
            constraints=self._combination.constraints,
            pythons=self._combination.pythons,
        )
        try:
            plan = propose(question, self._matrix).plan
        except UsageError:
            return None
        return plan.environment or plan.nearest


def _is_listed(text: str, matrix: Matrix) -> bool:
    one = requirement(text)
    return one is not None and (matrix.without_gpu_code(one.name) or bool(matrix.releases(one.name)) or one.name.startswith("nvidia-"))


def _errors(found: Diagnosis) -> Counter[str]:
    return Counter(one.code for one in found.root_causes if one.severity is Severity.ERROR)
