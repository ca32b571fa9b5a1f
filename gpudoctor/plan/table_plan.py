"""A plan from the tables alone: packages without a version are pinned if the newest known release does not work with the others."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.findings import Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.plan.bounds import LearntBounds
from gpudoctor.plan.checker import Checker, Conclusion
from gpudoctor.plan.choices import Chosen
from gpudoctor.plan.companions import checked_requirement
from gpudoctor.plan.description import planned_environment
from gpudoctor.plan.proposal import PlanQuestion, Proposal, exit_code_of_plan, plan_headline, proposed_plan
from gpudoctor.report.plan import Plan

_MAX_ROUNDS = 6
"""How often the rules may refuse what an installer would choose."""


def plan_from_tables(question: PlanQuestion, matrix: Matrix) -> Plan:
    """Return the plan, for which no installer was asked; unknown if the rules refused every choice. Raises UsageError as `proposed_plan` does."""
    learnt, rounds = LearntBounds(), _MAX_ROUNDS
    proposal = proposed_plan(question, matrix)
    while (chosen := proposal.chosen) is not None and (free := _unpinned_requirements(proposal, chosen, matrix)):
        texts = (*map(checked_requirement, chosen.candidates), *_constrained_requirements(free, learnt))
        conclusion = Checker(question.machine, matrix)(texts, chosen.python)
        rounds -= 1
        if not rounds or conclusion.verdict is not Verdict.BROKEN:
            return _described_plan(proposal, learnt.with_constraints(chosen), conclusion)
        learnt.add_conflict(conclusion, chosen, question.machine, matrix)
        proposal = proposed_plan(question, matrix, learnt.bounds)
    return proposal.plan


def _unpinned_requirements(proposal: Proposal, chosen: Chosen, matrix: Matrix) -> dict[str, str]:
    """Return the stated requirements, by name, of packages in the tables that the plan does not pin."""
    wanted = proposal.wishes.requirements.items()
    return {name: asked.text for name, asked in wanted if chosen.of(name) is None and matrix.releases(name)}


def _constrained_requirements(free: dict[str, str], learnt: LearntBounds) -> tuple[str, ...]:
    """Return the requirements, those of a constraint as it pins them."""
    pins = {wanted.name: wanted.text for wanted in parse_requirements(constraint.requirement for constraint in learnt.constraints)}
    return tuple({**free, **pins}.values())


def _described_plan(proposal: Proposal, chosen: Chosen, conclusion: Conclusion) -> Plan:
    """Return the plan with what is pinned in addition, and what the rules say of all packages."""
    if conclusion.verdict is Verdict.BROKEN:  # an older release may work
        conclusion = msgspec.structs.replace(conclusion, verdict=Verdict.UNKNOWN)
    if conclusion.verdict is not Verdict.READY:
        chosen = msgspec.structs.replace(chosen, conclusion=conclusion)
    here = planned_environment(chosen, proposal.search, proposal.wishes)
    return msgspec.structs.replace(
        proposal.plan, environment=here, exit_code=exit_code_of_plan(here), headline=plan_headline(here.verdict, chosen)
    )
