"""Says why nothing works on a machine, and what does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from gpudoctor.derive import wheel_platform
from gpudoctor.derive.pythons import python_range
from gpudoctor.findings import Severity, Verdict
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import framework_of
from gpudoctor.plan.checker import Conclusion
from gpudoctor.plan.choices import Chosen, Wishes
from gpudoctor.plan.contradiction import Contradiction, NearestAnswer
from gpudoctor.plan.description import is_plural, set_name
from gpudoctor.plan.search import ReleaseSearch


def failure_text(found: Contradiction, wishes: Wishes, *, with_advice: bool) -> str:
    """Return what does not work, why, and what to do instead: the nearest that works, otherwise the advice of the rule."""
    texts = [wishes.requirements[package].text for package in found.packages]
    conclusion = _simplest_failure(found.search)
    if found.search.gave_up:
        head = f"The search for {joined_words(texts)} ended before it found anything that works"
    elif len(texts) > 1:
        head = f"{joined_words(texts)} do not work together"
    else:
        head = f"No {'build' if framework_of(found.packages[0]) else 'release'} of {texts[0]} works on this machine"
    reason = conclusion.why if conclusion is not None else _empty_search_text(found.search, wishes)
    if is_undecided(found) and conclusion is not None and conclusion.unchecked:
        unread = conclusion.unchecked[0]
        head, reason = f"{unread.what} was not checked", f"{unread.reason}."
    if found.nearest is not None:
        return f"{head}: {reason} {_advice_text(found.nearest, found.packages, wishes)}"
    return f"{head}: {reason} {conclusion.advice if with_advice and conclusion is not None else ''}".rstrip()


def is_undecided(found: Contradiction) -> bool:
    """Return whether something that was asked for may work: the search ended early, or no table says enough about it."""
    conclusion = _simplest_failure(found.search)
    return found.search.gave_up or (conclusion is not None and conclusion.verdict is Verdict.UNKNOWN)


def _advice_text(nearest: NearestAnswer, core: tuple[str, ...], wishes: Wishes) -> str:
    what, plural = set_name(nearest.found, core), is_plural(nearest.found)
    dropped = [requirement for requirement in wishes.requirements if requirement not in nearest.wishes.requirements]
    if dropped:
        return f"Without {joined_words(dropped)}, {what} {'work' if plural else 'works'}."
    if nearest.wishes.python != wishes.python:
        return f"With Python {nearest.found.python}, {what} {'work' if plural else 'works'}."
    freed = [one for one in core if nearest.wishes.requirements[one] != wishes.requirements[one]]
    kept = [wishes.requirements[one].text for one in core if one not in freed]
    if kept and len(freed) == 1:
        return f"With {joined_words(kept)}, {_fitting_release_text(freed[0], nearest.found)}."
    return f"{'The newest that work are' if plural else 'The newest that works is'} {what}."


def _fitting_release_text(freed: str, found: Chosen) -> str:
    """Return the release of a package that suits the others."""
    candidate = found.of(freed)
    if candidate is not None:
        return f"the newest {freed} that works is {candidate.release}"
    bound = next((known.requirement for known in found.constraints if known.requirement.startswith(freed)), "")
    return f"use {bound}" if bound else f"leave out {freed}"


def _simplest_failure(search: ReleaseSearch) -> Conclusion | None:
    """Return the answer with the fewest errors, the newest of these: no other change avoids them."""
    checked = [clash.conclusion for clash in search.clashes or search.answers.rejected]
    if not checked:
        empty = next((lead for lead in search.leads if not search.candidates(lead)), "")
        checked = [answer for answer in (search.checked_as_stated(empty),) if answer.why] if empty else [*_platform_failures(search)]
    return min(checked, key=lambda conclusion: sum(found.severity is Severity.ERROR for found in conclusion.findings), default=None)


def _platform_failures(search: ReleaseSearch) -> Iterator[Conclusion]:
    """Yield why releases with a wheel for the Python that must be used do not work, where only others were considered: on Windows those without CUDA."""
    for lead in search.leads:
        suits = any(search.pythons.ordered_pythons((candidate,)) for candidate in search.candidates(lead))
        answer = None if suits else search.checked_as_stated(lead)
        if answer is not None and answer.verdict is Verdict.BROKEN and not answer.named("python-version-unsupported"):
            yield answer


def _empty_search_text(search: ReleaseSearch, wishes: Wishes) -> str:
    """Return why there was no set to check."""
    if not all(map(search.candidates, search.leads)):
        return f"the tables list no build for {wheel_platform.platform_label(search.machine.platform)}."
    return next(filter(None, (_missing_wheel_text(lead, search, wishes) for lead in search.leads)), "") or _disagreement_text(search)


def _missing_wheel_text(lead: str, search: ReleaseSearch, wishes: Wishes) -> str:
    """Return that no release of a package has wheels for a Python version that may be used; "" if one has."""
    newest = search.candidates(lead)[0]
    if not newest.pythons or any(search.pythons.ordered_pythons((candidate,)) for candidate in search.candidates(lead)):
        return ""
    excluded = f"not for {wishes.python}" if wishes.python else "and the files allow none of these"
    return f"{newest.label} has wheels for Python {python_range(newest.pythons)}, {excluded}."


def _disagreement_text(search: ReleaseSearch) -> str:
    """Return what a release requires that no release of another package satisfies."""
    for candidate, other in permutations([search.candidates(lead)[0] for lead in search.leads], 2):
        wanted = search.demands.disagreement(candidate, other)
        bound = search.leads[other.name].specifier
        if wanted:
            instead = f"not {other.name}{bound}" if bound else "and the tables list no such build for this platform"
            return f"{candidate.label} requires {wanted}, {instead}."
    return "no Python version has wheels of all of them."
