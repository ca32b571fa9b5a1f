"""Plans an environment from the tables: the newest set of releases that works on a machine, and what a newer driver would allow."""

from __future__ import annotations

import time

import msgspec

from gpudoctor.derive.specifiers import only_version, requirements_in, satisfies
from gpudoctor.errors import UsageError
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Verdict
from gpudoctor.findings.naming import joined
from gpudoctor.matrix import Matrix
from gpudoctor.plan.alternatives import drivers
from gpudoctor.plan.checker import Checker
from gpudoctor.plan.chosen import Chosen, Wishes
from gpudoctor.plan.contradiction import Contradiction, contradiction
from gpudoctor.plan.describe import environment, name, several
from gpudoctor.plan.machine import NOT_STATED, Machine
from gpudoctor.plan.misspelt import refuse
from gpudoctor.plan.reasons import not_known, told
from gpudoctor.plan.search import Search
from gpudoctor.plan.stated import stated
from gpudoctor.plan.suppose import marker_environment
from gpudoctor.report.build import TOOL
from gpudoctor.report.plan import Assumption, Environment, MachineChange, Plan
from gpudoctor.snapshot import Fact, KernelDriver, Missing, Nvml

PATIENCE = 10.0
"""Seconds of processor time that the search in the tables may take; it needs well under one. The answer does not depend on what else runs."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What to plan, and for which machine."""

    requirements: tuple[str, ...]
    machine: Machine
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
    search: Search
    wishes: Wishes


def propose(question: Question, matrix: Matrix, bounds: dict[str, str] | None = None, *, explain: bool = True) -> Proposal:
    """Return the plan from the tables; `bounds` are specifiers beside the stated ones. `explain` says why nothing works, which may take seconds.

    Raises UsageError for requirements that cannot be understood or that no release satisfies.
    """
    began = time.monotonic()
    machine = question.machine
    asked, _ = stated(question.requirements, marker_environment(question.python, machine.platform))
    refuse(asked.values())
    wishes = Wishes(
        requirements=asked,
        python=question.python,
        preferred=question.preferred,
        pythons=question.pythons,
        near={name: pin for name, wanted in asked.items() if (pin := only_version(wanted.specifier)) is not None},
        bounds=_merged(question.constraints, bounds or {}),
        intact=question.intact,
        not_planned=question.not_planned,
    )
    search = Search(wishes, machine, matrix, time.process_time() + PATIENCE)
    _refuse_unknown(search, wishes, matrix)
    found = search.best
    here = None if found is None else environment(found, search, wishes)
    plan = Plan(
        tool=TOOL,
        exit_code=exit_code(here),
        headline="" if found is None or here is None else headline(here.verdict, found),
        requirements=question.requirements,
        machine=tuple(Assumption(supposed.what, supposed.value, supposed.where) for supposed in machine.supposed),
        environment=here,
        with_driver=_with_driver(found, search, wishes, machine, matrix),
    )
    if found is None and explain:
        plan = _without_answer(plan, contradiction(search, wishes), wishes)
    plan = msgspec.structs.replace(plan, seconds=round(time.monotonic() - began, 3))
    if question.without_driver and found is not None and here is not None:
        return Proposal(plan=_driver_first(plan, found, here, machine, matrix), chosen=None, search=search, wishes=wishes)
    return Proposal(plan=plan, chosen=found, search=search, wishes=wishes)


def _without_answer(plan: Plan, found: Contradiction, wishes: Wishes) -> Plan:
    """Return the plan where nothing works: what prevents it, and the nearest that works."""
    nearest = found.nearest
    return msgspec.structs.replace(
        plan,
        exit_code=UNKNOWN if not_known(found) else BROKEN,
        headline=told(found, wishes, with_advice=plan.with_driver is None),
        contradiction=tuple(wishes.requirements[package].text for package in found.packages),
        nearest=environment(nearest.found, nearest.search, nearest.wishes) if nearest is not None else None,
    )


def _driver_first(plan: Plan, found: Chosen, here: Environment, machine: Machine, matrix: Matrix) -> Plan:
    """Return the plan for a machine that has no driver: the oldest driver with which the environment works."""
    texts = (*(candidate.requirement for candidate in found.candidates), *(constraint.requirement for constraint in found.constraints))
    oldest = next(
        (
            driver.version
            for driver in drivers(machine, matrix)
            if Checker(_with(machine, driver.version), matrix)(texts, found.python).works
        ),
        "",
    )
    if not _capabilities_known(machine):
        unread = (
            "The GPU's compute capability cannot be read without a driver, so whether these releases have kernels for it was not checked; "
            "name the GPU with --gpu."
        )
        here = msgspec.structs.replace(here, verdict=Verdict.UNKNOWN.value, not_checked=(*here.not_checked, unread))
    return msgspec.structs.replace(
        plan,
        exit_code=BROKEN,
        headline=f"No NVIDIA driver is loaded on this machine, which {name(found)} needs.",
        environment=None,
        with_driver=MachineChange(oldest, here) if oldest else None,
    )


def _merged(constraints: tuple[str, ...], bounds: dict[str, str]) -> dict[str, str]:
    """Return the specifiers of constraints and bounds by name."""
    merged = dict(bounds)
    for wanted in requirements_in(constraints):
        merged[wanted.name] = ",".join(filter(None, (wanted.specifier, merged.get(wanted.name, ""))))
    return merged


def exit_code(here: Environment | None) -> int:
    """Return 1 if nothing works, 3 if something was not checked, else 0."""
    if here is None:
        return BROKEN
    return READY if here.verdict in {"ready", "degraded"} else UNKNOWN


def _refuse_unknown(search: Search, wishes: Wishes, matrix: Matrix) -> None:
    """Raise UsageError if the tables list nothing to choose from."""
    listed = search.leads or {name: requirement for name, requirement in wishes.requirements.items() if matrix.releases(name)}
    if not listed:
        raise UsageError(
            f"No table lists {joined(wishes.requirements)}, so there is nothing to choose; add the framework that it uses, such as torch."
        )
    for key, asked in listed.items():
        known = [str(row.release) for row in matrix.releases(key, pinned=only_version(asked.specifier) or "")]
        if not any(satisfies(release.partition("+")[0], asked.specifier.partition("+")[0]) for release in known):
            bounded = key in wishes.bounds or key not in wishes.requirements
            wanted = f"{key}{asked.specifier}" if bounded else asked.text
            raise UsageError(f"No release of {key} in the tables satisfies {wanted!r}: they list {known[0]} to {known[-1]}.")


def headline(verdict: str, found: Chosen) -> str:
    """Return the answer in one sentence."""
    what, plural = name(found), several(found)
    if verdict not in {"ready", "degraded"}:
        return f"{what} {'are' if plural else 'is'} the newest that may work; not everything could be checked."
    return f"{what} {'work' if plural else 'works'} on this machine{', with a warning' if verdict == 'degraded' else ''}."


def _capabilities_known(machine: Machine) -> bool:
    gpus = machine.nvml.gpus if isinstance(machine.nvml, Nvml) else ()
    return isinstance(gpus, tuple) and not any(isinstance(gpu.compute_capability, Missing) for gpu in gpus)


def _with_driver(found: Chosen | None, asked: Search, wishes: Wishes, machine: Machine, matrix: Matrix) -> MachineChange | None:
    """Return what another driver allows, if that is newer than what works now."""
    if isinstance(machine.kernel_driver, Missing) or (found is not None and asked.nothing_newer(found)):
        return None
    newer = wishes if found is None else _no_older(wishes, found)
    search = Search(newer, _with(machine, ""), matrix, time.process_time() + PATIENCE, other_driver=asked.answers)
    best = search.best
    if best is None or not best.conclusion.works or (found is not None and found.releases == best.releases):
        return None
    texts = tuple(candidate.requirement for candidate in best.candidates)
    for driver in drivers(machine, matrix):
        if Checker(_with(machine, driver.version), matrix)(texts, best.python).works:
            return MachineChange(driver.text, environment(best, search, wishes), older=driver.older)
    return None


def _no_older(wishes: Wishes, found: Chosen) -> Wishes:
    """Return the wishes without older releases of the package that is searched for first."""
    first = found.candidates[0]
    return msgspec.structs.replace(wishes, bounds=_merged((f"{first.name}>={first.release}",), wishes.bounds))


def _with(machine: Machine, version: str) -> Machine:
    """Return the machine with this driver; with an unknown one for ""."""
    driver = KernelDriver(version=Fact(version, "planned")) if version else NOT_STATED
    return msgspec.structs.replace(machine, kernel_driver=driver)
