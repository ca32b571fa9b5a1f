"""A plan from the tables alone: packages without a version are pinned if the newest known release does not work with the others."""

from __future__ import annotations

import msgspec

from gpudoctor.derive.specifiers import requirements_in
from gpudoctor.findings import Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.plan.checker import Checker, Conclusion
from gpudoctor.plan.chosen import Chosen
from gpudoctor.plan.companions import checked_as
from gpudoctor.plan.describe import environment
from gpudoctor.plan.learnt import Learnt
from gpudoctor.plan.propose import Proposal, Question, exit_code, headline, propose
from gpudoctor.report.plan import Plan

_ROUNDS = 6
"""How often the rules may refuse what an installer would choose."""


def planned_from_tables(question: Question, matrix: Matrix) -> Plan:
    """Return the plan, for which no installer was asked; unknown if the rules refused every choice. Raises UsageError as `propose` does."""
    learnt, rounds = Learnt(), _ROUNDS
    proposal = propose(question, matrix)
    while (chosen := proposal.chosen) is not None and (free := _free(proposal, chosen, matrix)):
        texts = (*map(checked_as, chosen.candidates), *_with_constraints(free, learnt))
        conclusion = Checker(question.machine, matrix)(texts, chosen.python)
        rounds -= 1
        if not rounds or conclusion.verdict is not Verdict.BROKEN:
            return _described(proposal, learnt.applied(chosen), conclusion)
        learnt.remember(conclusion, chosen, question.machine, matrix)
        proposal = propose(question, matrix, learnt.bounds)
    return proposal.plan


def _free(proposal: Proposal, chosen: Chosen, matrix: Matrix) -> dict[str, str]:
    """Return the stated requirements, by name, of packages in the tables that the plan does not pin."""
    wanted = proposal.wishes.requirements.items()
    return {name: asked.text for name, asked in wanted if chosen.of(name) is None and matrix.releases(name)}


def _with_constraints(free: dict[str, str], learnt: Learnt) -> tuple[str, ...]:
    """Return the requirements, those of a constraint as it pins them."""
    pins = {wanted.name: wanted.text for wanted in requirements_in(constraint.requirement for constraint in learnt.constraints)}
    return tuple({**free, **pins}.values())


def _described(proposal: Proposal, chosen: Chosen, conclusion: Conclusion) -> Plan:
    """Return the plan with what is pinned in addition, and what the rules say of all packages."""
    if conclusion.verdict is Verdict.BROKEN:  # an older release may work
        conclusion = msgspec.structs.replace(conclusion, verdict=Verdict.UNKNOWN)
    if conclusion.verdict is not Verdict.READY:
        chosen = msgspec.structs.replace(chosen, conclusion=conclusion)
    here = environment(chosen, proposal.search, proposal.wishes)
    return msgspec.structs.replace(proposal.plan, environment=here, exit_code=exit_code(here), headline=headline(here.verdict, chosen))
