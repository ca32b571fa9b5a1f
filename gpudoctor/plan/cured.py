"""Keeps the fixes of an assumed environment that lead to one that works, and finds one where none does."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import msgspec

from gpudoctor.derive.specifiers import requirement
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Action, Diagnosis, Finding, Fix, FixKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied import applied, changes, ways
from gpudoctor.plan.model import Combination
from gpudoctor.plan.repair import Repair, error_left, errors, worsens
from gpudoctor.plan.suppose import suppose


def cured(found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> Diagnosis:
    """Return the diagnosis of an assumed combination with fixes that were tried on it.

    After the first fix of the first error nothing is broken, where the tables know such a change. A fix of another one may leave
    what the other findings name, and nothing else. After the fix of a warning it is gone, and nothing is broken.
    """
    first = error_left(found)
    if first is None and not any(_is_warning(finding) for finding in found.findings):
        return found
    cure = _Cure(found, combination, matrix, policy)
    fixes = {finding.id: cure.of_all(finding) if finding is first else cure.of(finding) for finding in found.findings}
    findings = tuple(msgspec.structs.replace(finding, fixes=fixes[finding.id]) for finding in found.findings)
    return msgspec.structs.replace(found, findings=findings)


_NOTHING = Fix(
    "Leave a package out, or use another machine: no change that was tried makes this combination work.", action=Action.REPLACE_HARDWARE
)

_NOTHING_GENTLER = Fix("Keep this as it is, or leave a package out: no change that was tried removes this and breaks nothing else.")


class _Cure:
    def __init__(self, found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> None:
        listed = tuple(text for text in combination.requirements if _is_listed(text, matrix))
        self._combination = msgspec.structs.replace(combination, requirements=listed)
        beside = tuple(text for text in combination.requirements if text not in listed)
        self._matrix = matrix
        self._policy = policy
        self._found = found
        self._errors = errors(found)
        self._repair = Repair(self._combination, found, matrix, self._check, beside=beside)

    @cached_property
    def _steps(self) -> tuple[Fix, ...]:
        return self._repair.steps()

    def of_all(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which nothing is broken; if none is known, what prevents that."""
        works = self._repair.smallest_first([fixes for fixes in ways(finding.fixes) if self._repair.cures(fixes)])
        if works or self._steps:
            return self._in_order(works or [self._steps])
        sentences = [fixes for fixes in ways(finding.fixes) if all(map(_is_advice, fixes))]
        return self._in_order(sentences) or self._repair.apart or self._repair.unsure() or self._repair.dead_end or self.of_one(finding)

    def of(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes of a finding that is not the first error."""
        return self._of_warning(finding) if _is_warning(finding) else self.of_one(finding)

    def _of_warning(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which this warning is gone and nothing is broken that was not."""
        kept = [fixes for fixes in ways(finding.fixes) if not self._breaks(fixes, finding.code, warning=True)]
        if kept or not ways(finding.fixes):
            return self._in_order(kept) or finding.fixes

        def left(found: Diagnosis) -> Finding | None:
            return error_left(found) or _warning_left(found, finding.code)

        repair = Repair(self._combination, self._found, self._matrix, self._check, left=left)
        return repair.steps_of_findings() or (_NOTHING_GENTLER,)

    def of_one(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which this finding is gone and nothing is broken that was not."""
        kept = [fixes for fixes in ways(finding.fixes) if not self._breaks(fixes, finding.code)]
        if kept or not finding.fixes:
            return self._in_order(kept)
        return self._steps or self._repair.dead_end or (_NOTHING,)

    def _in_order(self, ways: list[tuple[Fix, ...]]) -> tuple[Fix, ...]:
        """Return ways to fix a finding as one list of fixes."""
        found = [self._repair.completed(fixes) for fixes in ways]
        first, others = found[:1], found[1:]
        return (
            *(msgspec.structs.replace(fix, kind=FixKind.FIX) for way in first for fix in way),
            *(
                msgspec.structs.replace(fix, kind=fix.kind if fix.kind is not FixKind.FIX else FixKind.INSTEAD)
                for way in others
                for fix in way
            ),
        )

    def _breaks(self, fixes: tuple[Fix, ...], code: str, *, warning: bool = False) -> bool:
        """Return whether something else is broken after fixes, or still the same; of a `warning`, whether that is still there."""
        after = applied(self._combination, fixes)
        if after == self._combination:
            return any(map(changes, fixes))  # what is stated already is no fix
        try:
            then = self._check(after)
        except UsageError:  # what is installed contradicts what was stated
            return True
        still = warning and _warning_left(then, code) is not None
        return still or worsens(self._found, then) or bool(errors(then) - (self._errors - Counter([code])))

    def _check(self, combination: Combination) -> Diagnosis:
        return diagnose(suppose(combination, self._matrix, ""), self._matrix, self._policy)


def _is_advice(fix: Fix) -> bool:
    """Return whether a fix is a sentence about something that no combination states, such as NVIDIA's own build; another machine is none."""
    return not changes(fix) and fix.action is not Action.REPLACE_HARDWARE


def _is_warning(finding: Finding) -> bool:
    return finding.severity is Severity.WARNING


def _warning_left(found: Diagnosis, code: str) -> Finding | None:
    return next((cause for cause in found.root_causes if cause.code == code and _is_warning(cause)), None)


def _is_listed(text: str, matrix: Matrix) -> bool:
    wanted = requirement(text)
    return wanted is not None and (matrix.lists(wanted.name) or wanted.name.startswith("nvidia-"))
