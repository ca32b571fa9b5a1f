"""Keeps the fixes of an assumed environment that lead to one that works, and finds one where none does."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

import msgspec

from gpudoctor.derive.specifiers import parse_requirement
from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import Action, Diagnosis, Finding, Fix, FixKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.plan.applied_fixes import combination_after, is_change, ways_to_fix
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.model import Combination
from gpudoctor.plan.repair import Repair, error_counts, first_error_cause, is_worse


def with_checked_fixes(found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> Diagnosis:
    """Return the diagnosis of an assumed combination with fixes that were tried on it.

    After the first fix of the first error nothing is broken, where the tables know such a change. A fix of another one may leave
    what the other findings name, and nothing else. After the fix of a warning it is gone, and nothing is broken.
    """
    first = first_error_cause(found)
    if first is None and not any(_is_warning(finding) for finding in found.findings):
        return found
    cure = _FixCheck(found, combination, matrix, policy)
    fixes = {finding.id: cure.fixes_of_everything(finding) if finding is first else cure.of(finding) for finding in found.findings}
    findings = tuple(msgspec.structs.replace(finding, fixes=fixes[finding.id]) for finding in found.findings)
    return msgspec.structs.replace(found, findings=findings)


_NO_FIX = Fix(
    "Leave a package out, or use another machine: no change that was tried makes this combination work.", action=Action.REPLACE_HARDWARE
)

_NO_FIX_FOR_WARNING = Fix("Keep this as it is, or leave a package out: no change that was tried removes this and breaks nothing else.")


class _FixCheck:
    def __init__(self, found: Diagnosis, combination: Combination, matrix: Matrix, policy: Policy) -> None:
        listed = tuple(text for text in combination.requirements if _is_package_listed(text, matrix))
        self._combination = msgspec.structs.replace(combination, requirements=listed)
        beside = tuple(text for text in combination.requirements if text not in listed)
        self._matrix = matrix
        self._policy = policy
        self._found = found
        self._errors = error_counts(found)
        self._repair = Repair(self._combination, found, matrix, self._check, beside=beside)

    @cached_property
    def _steps(self) -> tuple[Fix, ...]:
        return self._repair.steps()

    def fixes_of_everything(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which nothing is broken; if none is known, what prevents that."""
        works = self._repair.smallest_first([fixes for fixes in ways_to_fix(finding.fixes) if self._repair.is_cure(fixes)])
        if works or self._steps:
            return self._ordered_fixes(works or [self._steps])
        sentences = [fixes for fixes in ways_to_fix(finding.fixes) if all(map(_is_advice, fixes))]
        return (
            self._ordered_fixes(sentences)
            or self._repair.apart
            or self._repair.unsure_steps()
            or self._repair.dead_end
            or self.fixes_of_finding(finding)
        )

    def of(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes of a finding that is not the first error."""
        return self._fixes_of_warning(finding) if _is_warning(finding) else self.fixes_of_finding(finding)

    def _fixes_of_warning(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which this warning is gone and nothing is broken that was not."""
        kept = [fixes for fixes in ways_to_fix(finding.fixes) if not self._is_harmful(fixes, finding.code, warning=True)]
        if kept or not ways_to_fix(finding.fixes):
            return self._ordered_fixes(kept) or finding.fixes

        def left(found: Diagnosis) -> Finding | None:
            return first_error_cause(found) or _remaining_warning(found, finding.code)

        repair = Repair(self._combination, self._found, self._matrix, self._check, left=left)
        return repair.steps_of_findings() or (_NO_FIX_FOR_WARNING,)

    def fixes_of_finding(self, finding: Finding) -> tuple[Fix, ...]:
        """Return the fixes after which this finding is gone and nothing is broken that was not."""
        kept = [fixes for fixes in ways_to_fix(finding.fixes) if not self._is_harmful(fixes, finding.code)]
        if kept or not finding.fixes:
            return self._ordered_fixes(kept)
        return self._steps or self._repair.dead_end or (_NO_FIX,)

    def _ordered_fixes(self, ways: list[tuple[Fix, ...]]) -> tuple[Fix, ...]:
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

    def _is_harmful(self, fixes: tuple[Fix, ...], code: str, *, warning: bool = False) -> bool:
        """Return whether something else is broken after fixes, or still the same; of a `warning`, whether that is still there."""
        after = combination_after(self._combination, fixes)
        if after == self._combination:
            return any(map(is_change, fixes))  # what is stated already is no fix
        try:
            then = self._check(after)
        except UsageError:  # what is installed contradicts what was stated
            return True
        still = warning and _remaining_warning(then, code) is not None
        return still or is_worse(self._found, then) or bool(error_counts(then) - (self._errors - Counter([code])))

    def _check(self, combination: Combination) -> Diagnosis:
        return diagnose(snapshot_of_combination(combination, self._matrix, ""), self._matrix, self._policy)


def _is_advice(fix: Fix) -> bool:
    """Return whether a fix is a sentence about something that no combination states, such as NVIDIA's own build; another machine is none."""
    return not is_change(fix) and fix.action is not Action.REPLACE_HARDWARE


def _is_warning(finding: Finding) -> bool:
    return finding.severity is Severity.WARNING


def _remaining_warning(found: Diagnosis, code: str) -> Finding | None:
    return next((cause for cause in found.root_causes if cause.code == code and _is_warning(cause)), None)


def _is_package_listed(text: str, matrix: Matrix) -> bool:
    wanted = parse_requirement(text)
    return wanted is not None and (matrix.lists(wanted.name) or wanted.name.startswith("nvidia-"))
