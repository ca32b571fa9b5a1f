"""Says why nothing works on a machine, and what does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.pythons import span_of
from gpudoctor.findings import Severity, Verdict
from gpudoctor.findings.naming import joined
from gpudoctor.frameworks import framework_of
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.chosen import Chosen, Wishes
from gpudoctor.plan.contradiction import Contradiction, Nearest
from gpudoctor.plan.describe import name, several
from gpudoctor.plan.search import Search


def told(found: Contradiction, wishes: Wishes, *, with_advice: bool) -> str:
    """Return what does not work, why, and what to do instead: the nearest that works, otherwise the advice of the rule."""
    texts = [wishes.requirements[package].text for package in found.packages]
    conclusion = _plainest(found.search)
    if found.search.gave_up:
        head = f"The search for {joined(texts)} ended before it found anything that works"
    elif len(texts) > 1:
        head = f"{joined(texts)} do not work together"
    else:
        head = f"No {'build' if framework_of(found.packages[0]) else 'release'} of {texts[0]} works on this machine"
    reason = conclusion.why if conclusion is not None else _nothing_to_check(found.search, wishes)
    if not_known(found) and conclusion is not None and conclusion.unchecked:
        unread = conclusion.unchecked[0]
        head, reason = f"{unread.what} was not checked", f"{unread.reason}."
    if found.nearest is not None:
        return f"{head}: {reason} {_instead(found.nearest, found.packages, wishes)}"
    return f"{head}: {reason} {conclusion.advice if with_advice and conclusion is not None else ''}".rstrip()


def not_known(found: Contradiction) -> bool:
    """Return whether something that was asked for may work: the search ended early, or no table says enough about it."""
    conclusion = _plainest(found.search)
    return found.search.gave_up or (conclusion is not None and conclusion.verdict is Verdict.UNKNOWN)


def _instead(nearest: Nearest, core: tuple[str, ...], wishes: Wishes) -> str:
    what, plural = name(nearest.found, core), several(nearest.found)
    dropped = [requirement for requirement in wishes.requirements if requirement not in nearest.wishes.requirements]
    if dropped:
        return f"Without {joined(dropped)}, {what} {'work' if plural else 'works'}."
    if nearest.wishes.python != wishes.python:
        return f"With Python {nearest.found.python}, {what} {'work' if plural else 'works'}."
    freed = [one for one in core if nearest.wishes.requirements[one] != wishes.requirements[one]]
    kept = [wishes.requirements[one].text for one in core if one not in freed]
    if kept and len(freed) == 1:
        return f"With {joined(kept)}, {_of_these(freed[0], nearest.found)}."
    return f"{'The newest that work are' if plural else 'The newest that works is'} {what}."


def _of_these(freed: str, found: Chosen) -> str:
    """Return the release of a package that suits the others."""
    candidate = found.of(freed)
    if candidate is not None:
        return f"the newest {freed} that works is {candidate.release}"
    bound = next((known.requirement for known in found.constraints if known.requirement.startswith(freed)), "")
    return f"use {bound}" if bound else f"leave out {freed}"


def _plainest(search: Search) -> Conclusion | None:
    """Return the answer with the fewest errors, the newest of these: no other change avoids them."""
    checked = [clash.conclusion for clash in search.clashes or search.answers.rejected]
    if not checked:
        empty = next((lead for lead in search.leads if not search.candidates(lead)), "")
        checked = [answer for answer in (search.checked_as_stated(empty),) if answer.why] if empty else [*_of_platform(search)]
    return min(checked, key=lambda conclusion: sum(found.severity is Severity.ERROR for found in conclusion.findings), default=None)


def _of_platform(search: Search) -> Iterator[Conclusion]:
    """Yield why releases with a wheel for the Python that must be used do not work, where only others were considered: on Windows those without CUDA."""
    for lead in search.leads:
        suits = any(search.pythons.suiting((candidate,)) for candidate in search.candidates(lead))
        answer = None if suits else search.checked_as_stated(lead)
        if answer is not None and answer.verdict is Verdict.BROKEN and not answer.named("python-version-unsupported"):
            yield answer


def _nothing_to_check(search: Search, wishes: Wishes) -> str:
    """Return why there was no set to check."""
    if not all(map(search.candidates, search.leads)):
        return f"the tables list no build for {wheel_platform.label(search.machine.platform)}."
    return next(filter(None, (_lacks_python(lead, search, wishes) for lead in search.leads)), "") or _disagree(search)


def _lacks_python(lead: str, search: Search, wishes: Wishes) -> str:
    """Return that no release of a package has wheels for a Python version that may be used; "" if one has."""
    newest = search.candidates(lead)[0]
    if not newest.pythons or any(search.pythons.suiting((candidate,)) for candidate in search.candidates(lead)):
        return ""
    excluded = f"not for {wishes.python}" if wishes.python else "and the files allow none of these"
    return f"{newest.label} has wheels for Python {span_of(newest.pythons)}, {excluded}."


def _disagree(search: Search) -> str:
    """Return what a release requires that no release of another package satisfies."""
    for candidate, other in permutations([search.candidates(lead)[0] for lead in search.leads], 2):
        wanted = search.demands.disagreement(candidate, other)
        bound = search.leads[other.name].specifier
        if wanted:
            instead = f"not {other.name}{bound}" if bound else "and the tables list no such build for this platform"
            return f"{candidate.label} requires {wanted}, {instead}."
    return "no Python version has wheels of all of them."
