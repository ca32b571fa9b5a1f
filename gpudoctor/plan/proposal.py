"""Plans an environment from the tables: the newest set of releases that works on a machine, and what a newer driver would allow."""

from __future__ import annotations

import time

import msgspec

from gpudoctor.derive.specifiers import only_version, parse_requirements, satisfies
from gpudoctor.errors import UsageError
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import joined_words
from gpudoctor.matrix import Matrix
from gpudoctor.plan.assumed_machine import NOT_STATED, AssumedMachine
from gpudoctor.plan.assumed_snapshot import marker_environment
from gpudoctor.plan.checker import Checker
from gpudoctor.plan.choices import Chosen, Wishes
from gpudoctor.plan.contradiction import Contradiction, find_contradiction
from gpudoctor.plan.description import is_plural, planned_environment, set_name
from gpudoctor.plan.misspellings import refuse_misspelt
from gpudoctor.plan.other_drivers import other_drivers
from gpudoctor.plan.reasons import failure_text, is_undecided
from gpudoctor.plan.search import ReleaseSearch
from gpudoctor.plan.stated_requirements import stated_requirements
from gpudoctor.report.build import TOOL
from gpudoctor.report.plan import Assumption, Environment, MachineChange, Plan
from gpudoctor.snapshot import Fact, KernelDriver, Missing, Nvml

PATIENCE_SECONDS = 10.0
"""Seconds of processor time that the search in the tables may take; it needs well under one. The answer does not depend on what else runs."""


class PlanQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """What to plan, and for which machine."""

    requirements: tuple[str, ...]
    machine: AssumedMachine
    python: str = ""
    """The version that must be used; empty: any."""
    preferred: str = ""
    """The version of this machine's Python."""
    constraints: tuple[str, ...] = ()
    """Requirements that apply if something else installs the package: pip's -c."""
    pythons: tuple[str, ...] = ()
    """The Python versions that files allow; () for any."""
    intact: bool = False
    """Whether packages that overwrite each other's files are refused: a fix must not depend on the order of installation."""
    not_planned: tuple[str, ...] = ()
    """What files ask for and a plan cannot include, in sentences."""
    without_driver: bool = False
    """Whether this machine has a GPU and no driver loaded."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the tables."""

    plan: Plan
    chosen: Chosen | None
    """None: nothing works."""
    search: ReleaseSearch
    wishes: Wishes


def proposed_plan(question: PlanQuestion, matrix: Matrix, bounds: dict[str, str] | None = None, *, explain: bool = True) -> Proposal:
    """Return the plan from the tables; `bounds` are specifiers beside the stated ones. `explain` says why nothing works, which may take seconds.

    Raises UsageError for requirements that cannot be understood or that no release satisfies.
    """
    began = time.monotonic()
    machine = question.machine
    asked, _ = stated_requirements(question.requirements, marker_environment(question.python, machine.platform))
    refuse_misspelt(asked.values())
    wishes = Wishes(
        requirements=asked,
        python=question.python,
        preferred=question.preferred,
        pythons=question.pythons,
        near={name: pin for name, wanted in asked.items() if (pin := only_version(wanted.specifier)) is not None},
        bounds=_merged_bounds(question.constraints, bounds or {}),
        intact=question.intact,
        not_planned=question.not_planned,
    )
    search = ReleaseSearch(wishes, machine, matrix, time.process_time() + PATIENCE_SECONDS)
    _refuse_unlisted(search, wishes, matrix)
    found = search.best_set
    here = None if found is None else planned_environment(found, search, wishes)
    plan = Plan(
        tool=TOOL,
        exit_code=exit_code_of_plan(here),
        headline="" if found is None or here is None else plan_headline(here.verdict, found),
        requirements=question.requirements,
        machine=tuple(Assumption(supposed.what, supposed.value, supposed.where) for supposed in machine.supposed),
        environment=here,
        with_driver=_plan_with_other_driver(found, search, wishes, machine, matrix),
    )
    if found is None and explain:
        plan = _plan_without_answer(plan, find_contradiction(search, wishes), wishes)
    plan = msgspec.structs.replace(plan, seconds=round(time.monotonic() - began, 3))
    if question.without_driver and found is not None and here is not None:
        return Proposal(plan=_plan_with_first_driver(plan, found, here, machine, matrix), chosen=None, search=search, wishes=wishes)
    return Proposal(plan=plan, chosen=found, search=search, wishes=wishes)


def _plan_without_answer(plan: Plan, found: Contradiction, wishes: Wishes) -> Plan:
    """Return the plan where nothing works: what prevents it, and the nearest that works."""
    nearest = found.nearest
    return msgspec.structs.replace(
        plan,
        exit_code=UNKNOWN if is_undecided(found) else BROKEN,
        headline=failure_text(found, wishes, with_advice=plan.with_driver is None),
        contradiction=tuple(wishes.requirements[package].text for package in found.packages),
        nearest=planned_environment(nearest.found, nearest.search, nearest.wishes) if nearest is not None else None,
    )


def _plan_with_first_driver(plan: Plan, found: Chosen, here: Environment, machine: AssumedMachine, matrix: Matrix) -> Plan:
    """Return the plan for a machine that has no driver: the oldest driver with which the environment works."""
    texts = (*(candidate.requirement for candidate in found.candidates), *(constraint.requirement for constraint in found.constraints))
    oldest = next(
        (
            driver.version
            for driver in other_drivers(machine, matrix)
            if Checker(_machine_with_driver(machine, driver.version), matrix)(texts, found.python).works
        ),
        "",
    )
    if not _are_capabilities_known(machine):
        unread = (
            "The GPU's compute capability cannot be read without a driver, so whether these releases have kernels for it was not checked; "
            "name the GPU with --gpu."
        )
        here = msgspec.structs.replace(here, verdict=Verdict.UNKNOWN.value, not_checked=(*here.not_checked, unread))
    return msgspec.structs.replace(
        plan,
        exit_code=BROKEN,
        headline=f"No NVIDIA driver is loaded on this machine, which {set_name(found)} needs.",
        environment=None,
        with_driver=MachineChange(oldest, here) if oldest else None,
    )


def _merged_bounds(constraints: tuple[str, ...], bounds: dict[str, str]) -> dict[str, str]:
    """Return the specifiers of constraints and bounds by name."""
    merged = dict(bounds)
    for wanted in parse_requirements(constraints):
        merged[wanted.name] = ",".join(filter(None, (wanted.specifier, merged.get(wanted.name, ""))))
    return merged


def exit_code_of_plan(here: Environment | None) -> int:
    """Return 1 if nothing works, 3 if something was not checked, else 0."""
    if here is None:
        return BROKEN
    return READY if here.verdict in {"ready", "degraded"} else UNKNOWN


def _refuse_unlisted(search: ReleaseSearch, wishes: Wishes, matrix: Matrix) -> None:
    """Raise UsageError if the tables list nothing to choose from."""
    listed = search.leads or {name: requirement for name, requirement in wishes.requirements.items() if matrix.releases(name)}
    if not listed:
        raise UsageError(
            f"No table lists {joined_words(wishes.requirements)}, so there is nothing to choose; add the framework that it uses, such as torch."
        )
    for key, asked in listed.items():
        known = [str(row.release) for row in matrix.releases(key, pinned=only_version(asked.specifier) or "")]
        if not any(satisfies(release.partition("+")[0], asked.specifier.partition("+")[0]) for release in known):
            bounded = key in wishes.bounds or key not in wishes.requirements
            wanted = f"{key}{asked.specifier}" if bounded else asked.text
            raise UsageError(f"No release of {key} in the tables satisfies {wanted!r}: they list {known[0]} to {known[-1]}.")


def plan_headline(verdict: str, found: Chosen) -> str:
    """Return the answer in one sentence."""
    what, plural = set_name(found), is_plural(found)
    if verdict not in {"ready", "degraded"}:
        return f"{what} {'are' if plural else 'is'} the newest that may work; not everything could be checked."
    return f"{what} {'work' if plural else 'works'} on this machine{', with a warning' if verdict == 'degraded' else ''}."


def _are_capabilities_known(machine: AssumedMachine) -> bool:
    gpus = machine.nvml.gpus if isinstance(machine.nvml, Nvml) else ()
    return isinstance(gpus, tuple) and not any(isinstance(gpu.compute_capability, Missing) for gpu in gpus)


def _plan_with_other_driver(
    found: Chosen | None, asked: ReleaseSearch, wishes: Wishes, machine: AssumedMachine, matrix: Matrix
) -> MachineChange | None:
    """Return what another driver allows, if that is newer than what works now."""
    if isinstance(machine.kernel_driver, Missing) or (found is not None and asked.has_only_newest(found)):
        return None
    newer = wishes if found is None else _wishes_without_older(wishes, found)
    search = ReleaseSearch(
        newer, _machine_with_driver(machine, ""), matrix, time.process_time() + PATIENCE_SECONDS, other_driver=asked.answers
    )
    best = search.best_set
    if best is None or not best.conclusion.works or (found is not None and found.releases == best.releases):
        return None
    texts = tuple(candidate.requirement for candidate in best.candidates)
    for driver in other_drivers(machine, matrix):
        if Checker(_machine_with_driver(machine, driver.version), matrix)(texts, best.python).works:
            return MachineChange(driver.text, planned_environment(best, search, wishes), older=driver.older)
    return None


def _wishes_without_older(wishes: Wishes, found: Chosen) -> Wishes:
    """Return the wishes without older releases of the package that is searched for first."""
    first = found.candidates[0]
    return msgspec.structs.replace(wishes, bounds=_merged_bounds((f"{first.name}>={first.release}",), wishes.bounds))


def _machine_with_driver(machine: AssumedMachine, version: str) -> AssumedMachine:
    """Return the machine with this driver; with an unknown one for ""."""
    driver = KernelDriver(version=Fact(version, "planned")) if version else NOT_STATED
    return msgspec.structs.replace(machine, kernel_driver=driver)
