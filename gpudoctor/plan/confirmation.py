"""Resolution modulo diagnosis: the tables choose, uv resolves the rest, the rules check what it chose, and each conflict becomes a bound."""

from __future__ import annotations

import os
import time

import msgspec

from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.exit_codes import BROKEN
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import joined_words
from gpudoctor.matrix import Matrix
from gpudoctor.plan.bounds import LearntBounds
from gpudoctor.plan.checker import Checker, Conclusion
from gpudoctor.plan.companions import checked_requirement
from gpudoctor.plan.description import planned_environment, reason_for_python
from gpudoctor.plan.proposal import PlanQuestion, Proposal, exit_code_of_plan, plan_headline, proposed_plan
from gpudoctor.plan.resolution import ConfirmedPlan, Resolution, ResolverConflict, ResolverRequest, ResolverUnavailable
from gpudoctor.plan.resolver import MACOS_VARIABLE, resolve_with_uv
from gpudoctor.plan.table_plan import plan_from_tables
from gpudoctor.progress import Event, Progress, ignore_event
from gpudoctor.report.plan import Assumption, Plan
from gpudoctor.snapshot.distributions import name_with_extras

PATIENCE_SECONDS = 90.0
"""Seconds for uv in all."""
_ASSUMED_GLIBC = Assumption("glibc", "2.35", "assumed: that of Ubuntu 22.04", assumed=True)
"""The C library of a machine that is only stated: most wheels need none that is newer."""
_ASSUMED_MACOS = Assumption("macOS", "14.0", "assumed: what PyTorch's wheels need since 2.12", assumed=True)
"""The system of a Mac that is only stated."""
_COMPARED_PACKAGES = ("numpy", "protobuf")
"""Packages in no table of releases that rules compare."""
MAX_ROUNDS = 6
"""How often tables and resolver may contradict each other."""


def confirmed_plan(
    question: PlanQuestion, matrix: Matrix, progress: Progress = ignore_event, seconds: float = PATIENCE_SECONDS
) -> ConfirmedPlan:
    """Return a plan on which tables and uv agree; from the tables alone if uv cannot be asked, which the plan says."""
    began, learnt = time.monotonic(), LearntBounds()
    proposal = proposed_plan(question, matrix)
    for _ in range(MAX_ROUNDS):
        chosen = proposal.chosen
        if chosen is None:
            return ConfirmedPlan(_plan_with_note(proposal.plan, learnt.why))
        unchecked = not chosen.conclusion.works
        progress(Event("begin", "asking uv"))
        answer = resolve_with_uv(_resolver_request(proposal, question, learnt), began + seconds)
        progress(Event("end", "asking uv"))
        if isinstance(answer, ResolverUnavailable):
            return ConfirmedPlan(_plan_with_note(plan_from_tables(question, matrix), f"{answer.sentence}: planned from the tables alone."))
        if isinstance(answer, ResolverConflict):
            if python := _next_python(proposal, question, learnt, began + seconds):
                question = msgspec.structs.replace(question, pythons=(python,))
                proposal = proposed_plan(question, matrix, learnt.bounds)
                continue
            if sources := tuple(name for name in answer.sources if name not in learnt.left_out):
                learnt.left_out += sources
                continue
            if unchecked or answer.sources:  # perhaps it only lacks a wheel: nothing is known against it
                return ConfirmedPlan(_plan_with_note(proposal.plan, f"uv found no such set without building a package: {answer.sentence}"))
            contradiction = _learn_bounds(answer, proposal, question, learnt, began + seconds)
            if contradiction:
                return ConfirmedPlan(_impossible_plan(proposal.plan, contradiction))
        else:
            conclusion = _conclusion_of_resolution(answer, proposal, question, matrix)
            if conclusion.works or (unchecked and conclusion.verdict is Verdict.UNKNOWN):
                plan = _plan_without_lock(_final_plan(answer, conclusion, proposal, question, learnt), proposal, learnt.left_out, matrix)
                lock = "" if learnt.left_out else answer.lock
                return ConfirmedPlan(msgspec.structs.replace(plan, seconds=round(time.monotonic() - began, 3)), lock)
            learnt.add_conflict(conclusion, chosen, question.machine, matrix)
        proposal = proposed_plan(question, matrix, learnt.bounds)
    return ConfirmedPlan(
        _plan_with_note(proposal.plan, f"uv and the tables did not agree in {MAX_ROUNDS} rounds: planned from the tables alone.")
    )


def _resolver_request(proposal: Proposal, question: PlanQuestion, learnt: LearntBounds) -> ResolverRequest:
    here, chosen = proposal.plan.environment, proposal.chosen
    pins = tuple(pin.requirement for pin in here.pins) if here else ()
    return ResolverRequest(
        requirements=pins,
        constraints=(*question.constraints, *(constraint.requirement for constraint in learnt.constraints)),
        python=chosen.python if chosen else "",
        platform=question.machine.platform,
        system=next((assumption.value for assumption in _system_assumption(question)), ""),
        backend=here.torch_backend if here else "",
        left_out=learnt.left_out,
    )


def _system_assumption(question: PlanQuestion) -> tuple[Assumption, ...]:
    """Return the C library or the macOS for which uv chooses wheels; nothing on Windows."""
    if question.machine.platform.startswith("macos"):
        stated = os.environ.get(MACOS_VARIABLE, "")
        return (Assumption("macOS", stated, MACOS_VARIABLE) if stated else _ASSUMED_MACOS,)
    if not question.machine.platform.startswith("linux"):
        return ()
    known = question.machine.libc.removeprefix("glibc ") if question.machine.libc.startswith("glibc ") else ""
    return (Assumption("glibc", known, "this machine") if known else _ASSUMED_GLIBC,)


def _next_python(proposal: Proposal, question: PlanQuestion, learnt: LearntBounds, until: float) -> str:
    """Return the next Python on which uv finds the same releases; empty if it finds none, or the user states or has this one.

    A package that no table lists, such as h5py for Keras, often has no wheel for the newest Python yet.
    """
    chosen = proposal.chosen
    if chosen is None or chosen.python in {question.python, question.preferred}:
        return ""
    others = [python for python in proposal.search.pythons.ordered_pythons(chosen.candidates) if python != chosen.python]
    pinned = _resolver_request(proposal, question, learnt)
    found = (
        python for python in others[:1] if isinstance(resolve_with_uv(msgspec.structs.replace(pinned, python=python), until), Resolution)
    )
    return next(found, "")


def _learn_bounds(conflict: ResolverConflict, proposal: Proposal, question: PlanQuestion, learnt: LearntBounds, until: float) -> str:
    """Bound the releases by what uv finds if it may choose older ones; return the contradiction if there is nothing older."""
    chosen = proposal.chosen.candidates if proposal.chosen else ()
    texts = [f"{name_with_extras(candidate.name, candidate.extras)}<={candidate.release}" for candidate in chosen]
    stated = [wanted.text for wanted in proposal.wishes.requirements.values()]
    pinned = _resolver_request(proposal, question, learnt)
    relaxed = resolve_with_uv(msgspec.structs.replace(pinned, requirements=(*stated, *texts), backend=""), until)
    if isinstance(relaxed, ResolverConflict) and (sources := tuple(name for name in relaxed.sources if name not in learnt.left_out)):
        learnt.left_out += sources
        return ""
    if not isinstance(relaxed, Resolution):
        return conflict.sentence if isinstance(relaxed, ResolverConflict) else f"{conflict.sentence} {relaxed.sentence}"
    found = {package.name: package.version.partition("+")[0] for package in relaxed.packages}
    older = [candidate for candidate in chosen if found.get(candidate.name, candidate.release) != candidate.release]
    for candidate in older:
        learnt.bound(candidate.name, f"<={found[candidate.name]}")
    learnt.why = conflict.sentence
    return "" if older else conflict.sentence


def _conclusion_of_resolution(resolution: Resolution, proposal: Proposal, question: PlanQuestion, matrix: Matrix) -> Conclusion:
    """Return what the rules say of everything that uv chose and that tables or rules know."""
    chosen = proposal.chosen.candidates if proposal.chosen else ()
    leads = {candidate.name for candidate in chosen}
    others = [package for package in resolution.packages if package.name not in leads]
    known = [
        other for other in others if matrix.releases(other.name) or other.name.startswith("nvidia-") or other.name in _COMPARED_PACKAGES
    ]
    texts = (*map(checked_requirement, chosen), *(f"{package.name}=={package.version}" for package in known))
    checker = Checker(question.machine, matrix, frozenset(other.name for other in others))
    return checker(texts, proposal.chosen.python if proposal.chosen else "")


def _final_plan(resolution: Resolution, conclusion: Conclusion, proposal: Proposal, question: PlanQuestion, learnt: LearntBounds) -> Plan:
    assert proposal.chosen is not None  # noqa: S101 -- for mypy
    found = learnt.with_constraints(proposal.chosen)
    if conclusion.verdict is not Verdict.READY:
        found = msgspec.structs.replace(found, conclusion=conclusion)
    here = planned_environment(found, proposal.search, proposal.wishes, resolution)
    return msgspec.structs.replace(
        proposal.plan,
        machine=(*proposal.plan.machine, *_system_assumption(question)),
        environment=here,
        exit_code=exit_code_of_plan(here),
        headline=plan_headline(here.verdict, found),
        resolver="uv",
        resolver_note=f"Nothing newer, because uv found a conflict: {learnt.why}" if learnt.bounds else "",
    )


def _plan_without_lock(plan: Plan, proposal: Proposal, left_out: tuple[str, ...], matrix: Matrix) -> Plan:
    """Return the plan without the list of all packages, which lacks what those left out require; unknown if one may need more than Python."""
    here, found = plan.environment, proposal.chosen
    if here is None or found is None or not left_out:
        return plan
    known = {name for name in left_out if (matrix.without_gpu_code(name) or matrix.releases(name)) and not matrix.pythons(name)}
    doubtful = (name for name in left_out if name not in known)
    unknown = tuple(f"{name} has no wheel for this Python; whether its source builds and works here was not checked." for name in doubtful)
    pinned = {wanted.name for wanted in parse_requirements(pin.requirement for pin in here.pins)}
    here = msgspec.structs.replace(
        here,
        verdict=Verdict.UNKNOWN.value if unknown else here.verdict,
        python_reason=here.python_reason if pinned.isdisjoint(left_out) else reason_for_python(found, proposal.wishes, "those with wheels"),
        not_checked=(*here.not_checked, *unknown),
        locked=(),
        download_bytes=None,
    )
    verb = "have" if len(left_out) > 1 else "has"
    note = f"{joined_words(left_out)} {verb} no wheel and was not built: further packages that the source requires are not listed."
    return msgspec.structs.replace(
        plan,
        environment=here,
        exit_code=exit_code_of_plan(here),
        headline=plan_headline(here.verdict, found) if unknown else plan.headline,
        resolver_note=" ".join(filter(None, (plan.resolver_note, note))),
    )


def _plan_with_note(plan: Plan, note: str) -> Plan:
    return msgspec.structs.replace(plan, resolver_note=note[:1].upper() + note[1:] if not note.startswith("uv") else note)


def _impossible_plan(plan: Plan, why: str) -> Plan:
    return msgspec.structs.replace(
        plan,
        environment=None,
        with_driver=None,
        exit_code=BROKEN,
        resolver="uv",
        headline=f"No set of releases satisfies these requirements: {why}",
    )
