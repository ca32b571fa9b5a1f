"""Answers for sets of releases on one machine: each is found once, and builds that differ in nothing that matters share one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

import msgspec

from gpudoctor.derive.specifiers import Requirement, parse_requirement
from gpudoctor.findings import Severity, Verdict
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.plan.candidates import Candidate
from gpudoctor.plan.checker import Checker, Conclusion
from gpudoctor.plan.choices import Chosen, Rejected
from gpudoctor.plan.companions import checked_requirement
from gpudoctor.plan.python_choice import PythonChoice
from gpudoctor.plan.release_demands import ReleaseDemands
from gpudoctor.plan.remedies import constraint_sets, further_bounds, numpy_constraints
from gpudoctor.versions import Version

_MAX_PYTHONS = 6
"""Python versions tried for one set."""
_PYTHON_RULES = ("python-version-unsupported", "package-not-installable")
"""Rules after whose finding another Python version is worth a try."""
_GPU_RULES = ("gpu-too-old-for-build", "gpu-too-new-for-build", "gpu-below-framework-minimum")
"""Rules whose error no other driver changes, unless another driver lets a second framework train."""
_BUILD_RULES = frozenset(("driver-too-old", *_GPU_RULES, *_PYTHON_RULES))
"""Rules whose finding a package's row decides, without its release."""
_PACKAGE_RULES = ("package-requirement-conflict", "nvidia-wheel-version-conflict", "package-not-installable")
"""Rules whose error no other driver changes."""


class SearchAnswers:
    """The answers of one search; a search with another driver begins with those that no driver changes."""

    def __init__(
        self,
        checker: Checker,
        asked: Mapping[str, Requirement],
        beside: tuple[str, ...],
        demands: ReleaseDemands,
        pythons: PythonChoice,
        *,
        other_driver: SearchAnswers | None = None,
    ) -> None:
        self._checker = checker
        self._machine = checker.machine
        self._matrix = checker.matrix
        self._asked = asked
        """What the user stated, by name."""
        self._beside = beside
        """Requirements that are checked with every set."""
        self._demands = demands
        self._pythons = pythons
        self._alone = {} if other_driver is None else other_driver.builds_refused_alone
        self.refused: dict[tuple[Candidate, ...], Chosen] = {} if other_driver is None else {**other_driver.refused}
        """The sets that no driver makes work, with their answers."""
        self._like: dict[tuple[object, ...], Conclusion] = {}
        """The answers for packages by themselves, by what decides them."""
        self.rejected: list[Rejected] = []
        """Builds that do not work, whatever is beside them."""

    @property
    def builds_refused_alone(self) -> dict[Candidate, Conclusion]:
        """The builds that do not work with any driver, whatever is beside them."""
        return {
            candidate: found
            for candidate, found in self._alone.items()
            if _is_broken_with_any_driver(found, (*_GPU_RULES, *_PACKAGE_RULES))
        }

    def unusable_requirement(self, pythons: Iterable[str]) -> str:
        """Return the first requirement checked with every set that works by itself with none of these Python versions, whatever the driver."""
        tried = tuple(pythons)
        return next((text for text in self._beside if tried and all(self._is_refused(text, python) for python in tried)), "")

    def _is_refused(self, text: str, python: str) -> bool:
        return _is_broken_with_any_driver(self._checker((text,), python, alone=True), _PACKAGE_RULES)

    def of(self, chosen: tuple[Candidate, ...]) -> Chosen:
        """Return the set with its answer, which is known if no driver makes the set work."""
        if chosen in self.refused:
            return self.refused[chosen]
        found = self._chosen_alike(chosen[0]) if len(chosen) == 1 else self._settle(chosen)
        rules = _PACKAGE_RULES if len(chosen) > 1 else (*_GPU_RULES, *_PACKAGE_RULES)
        if _is_broken_with_any_driver(found.conclusion, rules):
            self.refused[chosen] = found
        return found

    def alone(self, candidate: Candidate) -> Conclusion:
        """Return the answer for a build whatever is beside it: a framework with the libraries that it requires, an add-on by itself."""
        if candidate not in self._alone:
            self._alone[candidate] = self.of((candidate,)).conclusion if framework_of(candidate.name) else self._answer_by_itself(candidate)
            if self._alone[candidate].verdict is Verdict.BROKEN and not self._alone[candidate].of_machine:
                self.rejected.append(Rejected(candidate, self._alone[candidate]))
        return self._alone[candidate]

    def _answer_by_itself(self, candidate: Candidate) -> Conclusion:
        """Return the answer for an add-on by itself, or for a library with kernels that it requires if no such release works here."""
        python = next(iter(self._pythons.ordered_pythons((candidate,))), "")
        own = (self._matrix.resolve(candidate.name, candidate.release, self._machine.platform).row, checked_requirement(candidate))
        pins, choices = self._demands.pins(candidate), tuple(self._demands.unpinned_choices(candidate))
        covered = self._names_with_own_minimum(row for row, _ in (own, *pins, *chain.from_iterable(choices)) if row is not None)
        kernels = tuple((row, text) for row, text in pins if self._has_kernels(row, covered))
        parts = (own, *kernels) if own[0] is not None and own[0].accelerator == "cuda" else (*kernels, own)
        broken = (answer for part in parts if (answer := self._answer_without_requirements(*part, python)).verdict is Verdict.BROKEN)
        none_works = filter(None, (self._answer_if_none_works(rows, covered, python) for rows in choices))
        return next(chain(broken, none_works), None) or self._answer_without_requirements(*own, python)

    def _names_with_own_minimum(self, rows: Iterable[FrameworkRelease]) -> set[str]:
        """Return what is required by packages that state their oldest GPU themselves: gpu-below-framework-minimum asks no more of those."""
        texts = ((row, text) for row in rows if self._oldest_gpu(row) is not None for text in row.requires)
        return {wanted.name for row, text in texts if (wanted := parse_requirement(text)) is not None and wanted.name != row.distribution}

    def _answer_if_none_works(self, rows: tuple[tuple[FrameworkRelease, str], ...], covered: set[str], python: str) -> Conclusion | None:
        """Return the answer for the newest of these releases if all have kernels and none of them works here, with any Python."""
        answers = [self._answer_without_requirements(row, text, python) for row, text in rows if self._has_kernels(row, covered)]
        return answers[0] if rows and len(answers) == len(rows) and all(map(_is_broken_with_any_python, answers)) else None

    def _has_kernels(self, row: FrameworkRelease, covered: set[str]) -> bool:
        """Return whether a release has GPU code, or says which GPUs it compiles for when it runs."""
        return row.accelerator == "cuda" or (row.distribution not in covered and self._oldest_gpu(row) is not None)

    def _answer_without_requirements(self, row: FrameworkRelease | None, text: str, python: str) -> Conclusion:
        """Return the answer for a package without what it requires; for a release built like another one the same, if the build decides."""
        if row is None:
            return self._checker((text,), python, alone=True)
        key = (*self._build_key(row), python)
        known = self._like.get(key)
        if known is None or (known.verdict is Verdict.BROKEN and not _is_decided_by_build(known)):
            known = self._like[key] = self._checker((text,), python, alone=True)
        return known

    def _build_key(self, row: FrameworkRelease) -> tuple[object, ...]:
        """Return what decides whether a release's build runs on a GPU."""
        build = (row.distribution, row.accelerator, row.built_with_cuda, row.cudnn, row.sass, row.ptx, row.builds, row.pythons)
        return (*build, self._oldest_gpu(row))

    def _oldest_gpu(self, row: FrameworkRelease) -> Version | None:
        """Return the oldest GPU that a release says it runs on, whatever its wheel has."""
        need = self._matrix.gpu_need(row.distribution, row.release)
        return need.oldest_capability if need is not None else None

    def _chosen_alike(self, candidate: Candidate) -> Chosen:
        """Return a build with its answer; for a release built like another one the same, if the build decides."""
        row = self._matrix.resolve(candidate.name, candidate.version, self._machine.platform).row
        if row is None or row.sass is None:  # its code is in another package
            return self._settle((candidate,))
        key = (
            *self._build_key(row),
            candidate.extras,
            candidate.system,
            tuple(self._pythons.ordered_pythons((candidate,))),
            self._matrix.faults(candidate.name, candidate.version),
        )
        known = self._like.get(key)
        if known is not None and _is_decided_by_build(known):
            return Chosen((candidate,), next(iter(self._pythons.ordered_pythons((candidate,))), ""), known)
        found = self._settle((candidate,))
        self._like[key] = found.conclusion
        return found

    def _settle(self, chosen: tuple[Candidate, ...]) -> Chosen:
        """Return the set checked with the first Python version that suits it, and with the constraints that improve the answer."""
        texts = (*map(checked_requirement, chosen), *self._beside)
        python, conclusion = "", Conclusion(Verdict.BROKEN)
        for python in self._pythons.ordered_pythons(chosen)[:_MAX_PYTHONS]:
            conclusion = self._checker(texts, python)
            if not any(conclusion.named(rule) for rule in _PYTHON_RULES):
                break
        found = Chosen(chosen, python, conclusion, tuple(numpy_constraints(chosen, self._asked, self._machine, self._matrix)))
        for extra in constraint_sets(conclusion, chosen, self._machine, self._matrix):
            better = self._checker((*texts, *(constraint.requirement for constraint in extra)), python)
            more = tuple(further_bounds(extra, better, chosen))
            if more:
                extra = (*extra, *more)  # noqa: PLW2901
                better = self._checker((*texts, *(constraint.requirement for constraint in extra)), python)
            if _is_improvement(better, found.conclusion):
                return msgspec.structs.replace(found, conclusion=better, constraints=(*found.constraints, *extra))
        return found


def _is_improvement(better: Conclusion, before: Conclusion) -> bool:
    """Return whether constraints improve an answer: it works now, or the same could not be checked and less is found."""
    if better.verdict is before.verdict is Verdict.UNKNOWN:
        return len(better.findings) < len(before.findings)
    return better.works and (better.verdict is Verdict.READY or not before.works)


def _is_broken_with_any_python(conclusion: Conclusion) -> bool:
    for_another = any(conclusion.named(rule) for rule in _PYTHON_RULES)
    return _is_broken_with_any_driver(conclusion, _GPU_RULES) or (conclusion.verdict is Verdict.BROKEN and not for_another)


def _is_decided_by_build(conclusion: Conclusion) -> bool:
    """Return whether a release is broken by its build alone."""
    return (
        conclusion.verdict is Verdict.BROKEN
        and bool(conclusion.findings)
        and all(finding.name in _BUILD_RULES for finding in conclusion.findings)
    )


def _is_broken_with_any_driver(conclusion: Conclusion, rules: tuple[str, ...]) -> bool:
    """Return whether a set remains broken with any driver: one of these rules has an error, and the driver supports the GPU."""
    if conclusion.verdict is not Verdict.BROKEN or conclusion.of_machine:
        return False
    return any(finding.name in rules and finding.severity is Severity.ERROR for finding in conclusion.findings)
