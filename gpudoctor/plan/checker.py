"""Checks pinned requirements by the rules that check a real machine."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.errors import UsageError
from gpudoctor.findings import ENVIRONMENT, Diagnosis, Finding, OutcomeKind, Policy, Severity, SubjectKind, Unchecked, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_machine import AssumedMachine, cpython
from gpudoctor.plan.assumed_snapshot import snapshot_of_machine
from gpudoctor.plan.model import Combination

ASSUMED_POLICY = Policy(level=None, allow_cpu=True)
_SHARED_FILE_RULES = ("nvidia-wheel-version-conflict", "two-copies-of-framework")
"""Rules whose warning says that packages contain the same files: which of them is used depends on the order of installation."""


def count_overwrites(findings: Iterable[Finding]) -> int:
    """Return how many findings say that packages overwrite each other's files."""
    return sum(finding.name in _SHARED_FILE_RULES and finding.severity is Severity.WARNING for finding in findings)


class Conclusion(msgspec.Struct, frozen=True):
    """The answer for one set of requirements."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    """Errors and warnings that no other finding explains."""
    unchecked: tuple[Unchecked, ...] = ()
    refused: str = ""
    """Why the requirements could not even be assumed."""
    of_machine: str = ""
    """The error that the machine has with every release, in a sentence."""

    @property
    def works(self) -> bool:
        """Whether nothing is known that prevents training, and everything that matters was checked."""
        return self.verdict in {Verdict.READY, Verdict.DEGRADED}

    @property
    def why(self) -> str:
        """The first reason against it, in a sentence."""
        if self.of_machine or self.findings:
            return self.of_machine or self.findings[0].message
        return self.refused or (f"{self.unchecked[0].what}: {self.unchecked[0].reason}." if self.unchecked else "")

    @property
    def advice(self) -> str:
        """What to do about the first finding, in a sentence; "" if there is nothing."""
        fixes = self.findings[0].fixes if self.findings else ()
        return f"{fixes[0].title.removesuffix('.')}." if fixes else ""

    def named(self, name: str) -> bool:
        """Return whether a rule of this name found something."""
        return any(finding.name == name for finding in self.findings)


class Checker:
    """Checks requirements on one machine, each set once."""

    def __init__(self, machine: AssumedMachine, matrix: Matrix, unlisted: frozenset[str] = frozenset(), *, intact: bool = False) -> None:
        self.machine = machine
        self.matrix = matrix
        self._unlisted = unlisted
        """Packages that no table lists: they are reported and do not decide between releases."""
        self._intact = intact
        """Whether packages that overwrite each other's files are refused."""
        self._known: dict[tuple[tuple[str, ...], str, bool], Conclusion] = {}

    @property
    def count(self) -> int:
        """How many sets were checked."""
        return len(self._known)

    def __call__(self, requirements: tuple[str, ...], python: str, *, alone: bool = False) -> Conclusion:
        """Return the answer for requirements on this machine with a Python version, "3.12"; "" if any will do.

        `alone` leaves out the packages that they require.
        """
        key = (requirements, python, alone)
        if key not in self._known:
            self._known[key] = self._checked(Combination(requirements=requirements, alone=alone), python)
        return self._known[key]

    def _checked(self, combination: Combination, python: str) -> Conclusion:
        try:
            snapshot = snapshot_of_machine(machine_with_python(self.machine, python), combination, self.matrix, "")
        except UsageError as error:
            return Conclusion(Verdict.BROKEN, refused=str(error))
        return self._conclusion_of(diagnose(snapshot, self.matrix, ASSUMED_POLICY))

    def _conclusion_of(self, found: Diagnosis) -> Conclusion:
        if crashed := next((outcome for outcome in found.outcomes if outcome.kind is OutcomeKind.CRASHED), None):
            raise RuntimeError(crashed.reason)  # a plan that one rule did not check is none
        findings = tuple(finding for finding in found.root_causes if finding.severity > Severity.NOTE)
        unknown = tuple(unchecked for unchecked in found.unchecked if unchecked.package not in self._unlisted)
        verdict = found.verdict
        if not found.summary.frameworks:
            unknown = (*unknown, Unchecked(ENVIRONMENT, "training", "no framework is among these packages"))
        elif verdict is Verdict.UNKNOWN and not unknown:
            verdict = Verdict.DEGRADED if findings else Verdict.READY
        if self._intact and count_overwrites(findings):
            verdict = Verdict.BROKEN
        of_machine = (
            finding.message for finding in found.findings if finding.severity is Severity.ERROR and finding.subject.kind is SubjectKind.GPU
        )
        return Conclusion(verdict, findings, unknown, of_machine=next(of_machine, ""))


def machine_with_python(machine: AssumedMachine, python: str) -> AssumedMachine:
    """Return the machine with this Python version."""
    if not python:
        return machine
    return msgspec.structs.replace(machine, python=cpython(python, machine.host.architecture, windows=machine.on_windows))
