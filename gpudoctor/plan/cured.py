"""Keeps the fixes of an assumed environment that lead to one that works, and finds one where none does."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import msgspec

from gpudoctor.derive.specifiers import requirement
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Action, Diagnosis, Finding, Fix, FixKind, Policy, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied import applied, ways
from gpudoctor.plan.model import Combination
from gpudoctor.plan.repair import Repair, first_error
from gpudoctor.plan.suppose import suppose


def cured(found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> Diagnosis:
    """Return the diagnosis of an assumed combination with fixes that were tried on it.

    After the first fix of the first error nothing is broken, where the tables know such a change. A fix of another one may leave
    what the other findings name, and nothing else.
    """
    if found.verdict is not Verdict.BROKEN:
        return found
    cure = _Cure(found, combination, matrix, policy)
    first = first_error(found)
    fixes = {one.id: cure.of_all(one) if one is first else cure.of_one(one) for one in found.findings}
    findings = tuple(msgspec.structs.replace(one, fixes=fixes[one.id]) for one in found.findings)
    return msgspec.structs.replace(found, findings=findings)


_NOTHING = Fix(
    "Leave a package out, or use another machine: no change that was tried makes this combination work.", action=Action.REPLACE_HARDWARE
)


class _Cure:
    def __init__(self, found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> None:
        listed = tuple(text for text in combination.requirements if _is_listed(text, matrix))
        self._combination = msgspec.structs.replace(combination, requirements=listed)
        self._matrix = matrix
        self._policy = policy
        self._found = found
        self._errors = _errors(found)
        self._repair = Repair(self._combination, matrix, self._check)

    @cached_property
    def _steps(self) -> tuple[Fix, ...]:
        return self._repair.steps(self._found)

    def of_all(self, one: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which nothing is broken; if none is known, what prevents that."""
        works = [fixes for fixes in ways(one.fixes) if self._repair.cures(fixes)]
        if works or self._steps:
            return _in_order(works or [self._steps])
        return self._repair.dead_end or self.of_one(one)

    def of_one(self, one: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which this finding is gone and nothing is broken that was not."""
        kept = [fixes for fixes in ways(one.fixes) if not self._breaks(fixes, one.code)]
        if kept or not one.fixes:
            return _in_order(kept)
        return self._steps or self._repair.dead_end or (_NOTHING,)

    def _breaks(self, fixes: tuple[Fix, ...], code: str) -> bool:
        """Return whether something else is broken after fixes, or still the same."""
        after = applied(self._combination, fixes)
        if after == self._combination:
            return False
        try:
            left = _errors(self._check(after))
        except UsageError:  # what is installed contradicts what was stated
            return True
        return bool(left - (self._errors - Counter([code])))

    def _check(self, combination: Combination) -> Diagnosis:
        return diagnose(suppose(combination, self._matrix, ""), self._matrix, self._policy)


def _in_order(found: list[tuple[Fix, ...]]) -> tuple[Fix, ...]:
    """Return ways to fix a finding as one list of fixes."""
    first, others = found[:1], found[1:]
    return (
        *(msgspec.structs.replace(fix, kind=FixKind.FIX) for way in first for fix in way),
        *(msgspec.structs.replace(fix, kind=fix.kind if fix.kind is not FixKind.FIX else FixKind.INSTEAD) for way in others for fix in way),
    )


def _is_listed(text: str, matrix: Matrix) -> bool:
    one = requirement(text)
    return one is not None and (matrix.lists(one.name) or one.name.startswith("nvidia-"))


def _errors(found: Diagnosis) -> Counter[str]:
    return Counter(one.code for one in found.root_causes if one.severity is Severity.ERROR)
