"""What the log lines of a pasted text say: causes that no rule could judge by facts, and evidence for those that a rule found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.derive.gpu_code import Fit
from gpudoctor.derive.toolkits import system_cudas
from gpudoctor.diagnose.cause_exclusion import excluded_causes
from gpudoctor.diagnose.engine import RuleRun, finding_of_problem
from gpudoctor.diagnose.log_problems import frameworks_named, problem_of_sign, problem_of_words
from gpudoctor.diagnose.platform_causes import CAUSES_BY_PLATFORM, causes_on_platform
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.support import supported_causes
from gpudoctor.diagnose.support_libraries import LIBRARY_FACTS
from gpudoctor.diagnose.support_packages import PACKAGE_FACTS
from gpudoctor.diagnose.text_evidence import HintEvidence, TextEvidence
from gpudoctor.expressions import expression
from gpudoctor.findings import (
    MACHINE,
    Confidence,
    Evidence,
    Impact,
    Outcome,
    OutcomeKind,
    Problem,
    Rung,
    Severity,
    SubjectKind,
)
from gpudoctor.signatures import SignatureMatch, hinted_causes, recognised_signatures
from gpudoctor.signatures.no_gpu import NO_GPU_ANSWERS, NO_GPU_STATEMENTS, STILL_NO_GPU
from gpudoctor.signatures.phrases import KERNEL_RAN
from gpudoctor.signatures.settings import COUNTS_NO_GPU
from gpudoctor.snapshot import Fact, Missing, Nvml, TextLog

_LEAST_FAULT_PROBABILITY = 0.6
"""The least probability of a fault at which the words of a text may name its cause."""
_CONTRAST = expression(
    r"(?i)\b(?:true|works?|sees?|recogni[sz]es?|detects?|finds?|found|gpu:0)\b[^\n.]{0,40}\b(?:but|however|yet|while|whereas|although)\b"
)
"""A sentence that sets what one program sees against what another says."""
_WITH_TIME_OR_PROCESS = expression(r"\[ {0,5}\d{1,7}\.\d{6}\] |nvidia-[\w-]{2,20}\[\d{1,9}\]: ")
"""The beginning of a line of the system log. It describes the moment it was written, often at boot; what tools show may be newer."""
_OPEN_OUTCOMES = frozenset({OutcomeKind.NOT_ASKED, OutcomeKind.COULD_NOT_TELL})
"""Outcomes that leave a cause open."""
_IMPORT_CAUSES = frozenset(
    {
        "msvc-redistributable-missing",
        "cpu-lacks-avx",
        "framework-import-fails",
        "broken-release",
        "python-32bit",
        "protobuf-mismatch",
        "numpy2-abi-mismatch",
        "keras3-mismatch",
        "mkl-version-incompatible",
        "glibc-too-old",
    }
)
_USUAL_CAUSE = "cpu-only-build"
"""Why a framework sees no GPU, if nothing else speaks for a cause."""
_AFTER_IMPORT = frozenset({"cpu-only-build", "windows-native-no-gpu", "no-cuda-wheel-for-platform"})
"""What is only worth knowing of a framework that cannot be imported."""
_CLOSER_THAN_PLATFORM = frozenset(
    {*LIBRARY_FACTS, *PACKAGE_FACTS, "container-no-gpu-access", "gpu-too-new-for-build", "extension-missing-arch", "no-gpu"}
)
"""What the text shows of libraries, of a new GPU, of the architectures that somebody compiled for, of a machine that has no GPU, and of how a container is started, is nearer than the platform that it runs on."""
_GPU_HIDING_STAGES = frozenset({Rung.LIBCUDA, Rung.FRAMEWORK})
"""What breaks these lets no framework see the GPU, and does not come and go."""
_STOP_EVERY_KERNEL = frozenset({"gpu-too-new-for-build", "gpu-too-old-for-build", "driver-too-new-for-gpu", "gpu-too-new-for-driver"})
"""Findings with which no kernel of the framework runs, although they break a later stage."""
_EXPLAIN_NO_ERROR = frozenset({"slow-ptx-jit"})
"""Findings of what only takes long."""


class LogReading:
    """What the log lines of a text say of a machine."""

    def __init__(self, machine: MachineView, log: TextLog) -> None:
        self._machine = machine
        self._log = log
        contrasted = any(_CONTRAST.search(line.value) for line in log.lines)
        self._signs = [sign for sign in _signs_in_log(machine, log) if contrasted or not _is_of_no_framework_here(sign, machine)]

    @property
    def causes(self) -> frozenset[str]:
        """The names of the causes that the lines may point to, here or on another platform."""
        named = {cause for sign in self._signs for cause in sign.signature.causes}
        return frozenset(named | {names[cause] for names in CAUSES_BY_PLATFORM.values() for cause in named & names.keys()})

    @property
    def candidates(self) -> frozenset[str]:
        """The names of the causes that the lines may point to, and of those that the words are like."""
        return self.causes.union(cause.cause for cause in self._log.likeness.causes)

    def doubted_causes(self, runs: Sequence[RuleRun]) -> frozenset[str]:
        """Return what versions predict of an import, where a line shows another failure and none this one: the import seems to work."""
        failed = {sign.signature.causes[0] for sign in self._signs if not sign.signature.vague and not sign.signature.about_packages}
        shown = failed - _IMPORT_CAUSES
        found = any(finding.name in shown and finding.confidence > Confidence.POSSIBLE for run in runs for finding in run.findings)
        return _IMPORT_CAUSES - self.causes if found else frozenset()

    def runs_with_causes(self, runs: Sequence[RuleRun], rules: Sequence[Rule]) -> list[RuleRun]:
        """Return the runs and, for each sign in the text, its likeliest cause unless facts found one of its causes or ruled it out."""
        by_name = {rule.name: rule for rule in rules}
        runs = [_run_with_notes(run) if self._is_disproved(run.rule) else run for run in runs]
        found = {run.rule.name for run in runs if any(finding.severity > Severity.NOTE for finding in run.findings)}
        more = []
        for sign, choice in self.chosen(by_name, runs):
            is_explained = sign.signature.vague and found - _EXPLAIN_NO_ERROR
            if is_explained or found.intersection(choice.causes):
                continue
            likely = [by_name[name] for name in choice.likely]
            found.add(likely[0].name)
            problem = problem_of_sign(sign, likely, self._log, self._machine, why=choice.why.get(likely[0].name))
            more.append(_run_with_problem(likely[0], problem, runs, self._machine))
        earlier = [_run_with_notes(run) if found & _IMPORT_CAUSES and run.rule.name in _AFTER_IMPORT else run for run in runs]
        return [*earlier, *more, *(() if found else self._runs_by_likeness(by_name, runs))]

    def _is_disproved(self, rule: Rule) -> bool:
        """Return whether a kernel ran that could not have run if what a rule predicts were so, and no line says that it is."""
        stops = rule.breaks <= Rung.FRAMEWORK or rule.name in _STOP_EVERY_KERNEL
        return self._kernel_ran and rule.predicts and stops and rule.name not in self.causes

    def chosen(self, by_name: Mapping[str, Rule], runs: Sequence[RuleRun]) -> list[tuple[SignatureMatch, PossibleCauses]]:
        """Return the signs that point to a cause which nothing excludes, each with these; last a sign that only the usual cause explains."""
        choices = ((sign, self._possible_causes(sign, by_name, runs)) for sign in self._signs)
        return sorted(((sign, choice) for sign, choice in choices if choice is not None), key=lambda row: row[1] is _USUAL_CAUSES)

    def _runs_by_likeness(self, by_name: Mapping[str, Rule], runs: Sequence[RuleRun]) -> Iterator[RuleRun]:
        """Yield the cause that the whole text is most like, of those that no fact excludes, if it is like any."""
        if self._log.likeness.fault < _LEAST_FAULT_PROBABILITY:
            return
        known = (
            by_name.keys()
            - self._excluded
            - _causes_excluded_by_versions(runs, self._machine)
            - _causes_disproved_by_gpu(by_name, self._machine)
        )
        alike = [cause for cause in self._log.likeness.causes if cause.cause in known and _is_cause_open(by_name[cause.cause], runs)]
        if alike:
            rules = [by_name[cause.cause] for cause in alike]
            yield _run_with_problem(rules[0], problem_of_words(alike[0].words, rules, self._machine), runs, self._machine)

    def _possible_causes(self, sign: SignatureMatch, by_name: Mapping[str, Rule], runs: Sequence[RuleRun]) -> PossibleCauses | None:
        """Return the causes of a sign that nothing excludes; None if none is likely, or if the sign needs more than its own line."""
        signature, machine = sign.signature, self._machine
        of_other = _is_of_unstated_framework(sign, machine)
        acquitted = (
            frozenset[str]() if of_other or signature.despite_versions else _causes_excluded_by_versions(runs, machine) - self._stated
        )
        known = [name for name in signature.causes if name in by_name]
        named = [name for name in known if name not in acquitted] or ([] if signature.vague else known)
        nearer = {} if signature.needs_support else causes_on_platform(signature.causes, machine, self._log)
        on_platform = {name: why for name, why in nearer.items() if name in by_name}
        possible = [name for name in (*on_platform, *named) if name not in self._excluded]
        causes = list(dict.fromkeys(possible or named))
        why = self._support_for_causes(sign, causes) | on_platform
        if signature.needs_support and not why and _USUAL_CAUSE in possible and self._can_be_cpu_build(sign):
            return _USUAL_CAUSES
        is_past = _WITH_TIME_OR_PROCESS.match(sign.line) is not None
        if (signature.needs_support and not why) or (not possible and (signature.needs_support or signature.vague or is_past)):
            return None
        judged = [run for run in runs if not of_other or run.rule.about is not SubjectKind.FRAMEWORK]
        likely = causes if len(causes) == 1 else [name for name in causes if name in why or _is_cause_open(by_name[name], judged)]
        in_text = not _CLOSER_THAN_PLATFORM.isdisjoint(why)
        likely = sorted(likely, key=lambda name: (name not in why, in_text and name in on_platform))
        return PossibleCauses(causes, likely, why) if likely else None

    def _can_be_cpu_build(self, sign: SignatureMatch) -> bool:
        """Return whether a build without CUDA explains a framework that sees no GPU best: the driver works, and nothing tells of the build."""
        frameworks = [framework for framework in self._machine.frameworks if framework.observed.sees_gpu is not True]
        named = bool(frameworks_named(sign.line)) or sign.signature in NO_GPU_STATEMENTS
        unknown = any(isinstance(framework.observed.cuda_build, Missing) for framework in frameworks) if frameworks else named
        return unknown and "no-driver" in self._excluded

    def _support_for_causes(self, sign: SignatureMatch, causes: Sequence[str]) -> dict[str, Evidence]:
        """Return what speaks for each of these causes beside the line of the sign."""
        beside = hinted_causes(sign.beside)
        return {
            name: said
            for name, said in self._supported_causes.items()
            if name in causes and (name in beside or not _repeats_sign(said, sign))
        }

    @cached_property
    def _supported_causes(self) -> dict[str, Evidence]:
        """The causes that the text speaks for."""
        return supported_causes(self._machine, self._log)

    @cached_property
    def _kernel_ran(self) -> bool:
        """Whether a line shows that a kernel ran."""
        return any(line.value == KERNEL_RAN for line in self._log.lines)

    @cached_property
    def _stated(self) -> frozenset[str]:
        """The causes that facts speak for, not only words of a log."""
        return frozenset(name for name, said in self._supported_causes.items() if not isinstance(said, HintEvidence))

    @cached_property
    def _excluded(self) -> frozenset[str]:
        """The causes that facts exclude."""
        return excluded_causes(self._machine)


class PossibleCauses(NamedTuple):
    """What a sign may come from."""

    causes: list[str]
    """Every cause that nothing excludes."""
    likely: list[str]
    """Those that are likely, the likeliest first."""
    why: dict[str, Evidence]
    """What speaks for a cause."""


_USUAL_CAUSES = PossibleCauses([_USUAL_CAUSE], [_USUAL_CAUSE], {})
"""What nothing in the text speaks for; any other sign explains more."""


def _is_of_unstated_framework(sign: SignatureMatch, machine: MachineView) -> bool:
    """Return whether the line only names frameworks whose versions the text does not state: those of another tell nothing of them."""
    named = frameworks_named(sign.line)
    return bool(named) and named.isdisjoint(framework.name for framework in machine.frameworks)


def _is_of_no_framework_here(sign: SignatureMatch, machine: MachineView) -> bool:
    """Return whether the sign is only about packages, a framework in the text sees the GPU, and the line names no framework in the text."""
    if not sign.signature.about_packages:
        return False
    named = frameworks_named(sign.line)
    return any(framework.observed.sees_gpu is True for framework in machine.frameworks) and named.isdisjoint(
        framework.name for framework in machine.frameworks
    )


def _repeats_sign(said: Evidence, sign: SignatureMatch) -> bool:
    """Return whether what speaks for a cause is no more than the words of the sign."""
    return isinstance(said, TextEvidence) and said.value in (sign.line if isinstance(said, HintEvidence) else sign.matched_text)


def _run_with_notes(run: RuleRun) -> RuleRun:
    """Return the run with its findings as notes."""
    findings = tuple(msgspec.structs.replace(finding, severity=Severity.NOTE, impact=Impact.NONE) for finding in run.findings)
    return msgspec.structs.replace(run, findings=findings)


def _signs_in_log(machine: MachineView, log: TextLog) -> list[SignatureMatch]:
    """Return the signatures in the log, and that of a framework without a GPU if one only answered so: a complaint, if a CUDA toolkit is installed."""
    found = list(recognised_signatures(log.text))
    blind = next((framework for framework in machine.frameworks if framework.observed.sees_gpu is False), None)
    if blind is None:
        return found
    if not any(sign.signature in NO_GPU_ANSWERS for sign in found):
        found += (SignatureMatch(signature, f"{blind.label}: no GPU") for signature in NO_GPU_ANSWERS)
    if blind.observed.cuda_build is True and system_cudas(machine.known_toolkits):
        found.append(SignatureMatch(STILL_NO_GPU, f"{blind.label}: no GPU"))
    if blind.observed.cuda_build is True and _driver_sees_gpu(machine):
        found.append(SignatureMatch(COUNTS_NO_GPU, f"{blind.label}: no GPU"))
    return found


def _driver_sees_gpu(machine: MachineView) -> bool:
    """Return whether the text states a driver and a GPU that it lists."""
    nvml = machine.observed.nvml
    return isinstance(nvml, Nvml) and isinstance(nvml.driver_version, str) and bool(machine.observed.listed_gpus)


def _is_cause_open(rule: Rule, runs: Sequence[RuleRun]) -> bool:
    """Return whether no fact rules the cause out. A text states versions; it rarely states what services run and what is switched off."""
    kinds = {run.outcome.kind for run in runs if run.rule is rule}
    judged_by_versions = rule.about is not SubjectKind.MACHINE or rule.family == "driver"
    of_plans_alone = rule.about is SubjectKind.ENVIRONMENT and kinds == {OutcomeKind.NOT_APPLICABLE}
    return not kinds or not judged_by_versions or of_plans_alone or bool(kinds & _OPEN_OUTCOMES)


def _causes_excluded_by_versions(runs: Sequence[RuleRun], machine: MachineView) -> frozenset[str]:
    """Return the causes that versions rule out, whatever words speak for them: this build has kernels for this GPU.

    Kernels that the driver must compile first do not count: the build's CUDA libraries have none of these.
    """
    kinds: dict[str, set[OutcomeKind]] = {}
    for run in runs:
        if run.rule.about is SubjectKind.FRAMEWORK:
            kinds.setdefault(run.rule.name, set()).add(run.outcome.kind)
    passed = {name for name, several in kinds.items() if several == {OutcomeKind.PASSED}}
    found = (framework.gpu_fits_or_missing for framework in machine.frameworks)
    compiled = any(not isinstance(one, Missing) and one.lacking(Fit.PTX) for one in found)
    unknown = any(_is_build_assumed(framework) for framework in machine.frameworks)
    return frozenset(passed - ({"gpu-too-new-for-build"} if compiled else set()) - ({_USUAL_CAUSE} if unknown else set()))


def _is_build_assumed(framework: FrameworkView) -> bool:
    """Return whether the default index's build stands for one that sees no GPU: the text states only the release, and another index has CPU-only builds of it."""
    seen = framework.observed
    is_stated = isinstance(seen.cuda_build, bool) or isinstance(seen.built_with_cuda, Fact) or bool(seen.local_version)
    return bool(framework.spec.wheel_index) and seen.sees_gpu is False and not is_stated


def _causes_disproved_by_gpu(by_name: Mapping[str, Rule], machine: MachineView) -> frozenset[str]:
    """Return the causes that a framework which sees the GPU disproves, if none in the text sees none."""
    answers = {framework.observed.sees_gpu for framework in machine.frameworks}
    if True not in answers or False in answers:
        return frozenset()
    return frozenset(name for name, rule in by_name.items() if rule.predicts and rule.breaks in _GPU_HIDING_STAGES)


def _run_with_problem(rule: Rule, problem: Problem, runs: Sequence[RuleRun], machine: MachineView) -> RuleRun:
    """Return a run of a rule with this problem, its finding numbered after the notes that the rule found on the machine."""
    notes = sum(finding.id.partition("#")[0] == rule.code for run in runs for finding in run.findings)
    outcome = Outcome(code=rule.code, name=rule.name, subject=MACHINE, kind=OutcomeKind.FOUND)
    return RuleRun(rule, outcome, (finding_of_problem(rule, MACHINE, problem, notes, machine),), None, ("",))
