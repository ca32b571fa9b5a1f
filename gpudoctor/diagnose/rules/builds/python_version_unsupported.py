from collections.abc import Iterator
from itertools import combinations

import msgspec

from gpudoctor.derive import EnvironmentView, MachineView, not_applicable, require_known, wheel_platform
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.pythons import (
    WheelPythons,
    common_pythons,
    compiled_needs,
    lacks_wheel,
    ordered_pythons,
    python_numbers,
    python_range,
    stated_wheels,
)
from gpudoctor.diagnose.advice.environments import reinstall_with_python
from gpudoctor.diagnose.advice.installing import install_nearest_release, install_pick
from gpudoctor.diagnose.advice.message_fixes import log_match, usual_fixes
from gpudoctor.diagnose.advice.releases import pick_release
from gpudoctor.diagnose.installer_facts import stated_python, wheel_platform_prefix
from gpudoctor.diagnose.rule import advises, explains, rule
from gpudoctor.diagnose.rules.builds.python_spans import unsupported_packages, unsupported_requirements
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import joined_words
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.snapshot import AllowedPythons, Distribution

_REFUSED_REQUIREMENT = expression(
    r"the requirement (?P<name>[a-z][\w-]{0,40})={2,3}(?P<version>\d[\d.]{0,12}) \(from versions: (?P<offered>[\d.rcabpost, ]{0,4000})"
)
"""pip/_internal/resolution/resolvelib/factory.py; a long line of a log is cut off before the list ends."""

_FAILED_INSTALL = expression(r"\bCommand: [^\n]{0,200} -m pip install (?P<name>torch)==(?P<version>\d[\d.]{0,12})(?P<offered>)")
"""modules/launch_utils.py of stable-diffusion-webui"""


def _use_newest_python(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix with the newest Python for which what pip refused has wheels; what usually helps where no table lists it."""
    refused = log_match(machine, _REFUSED_REQUIREMENT) or log_match(machine, _FAILED_INSTALL)
    rows = machine.matrix.of_release(refused["name"], refused["version"]) if refused else ()
    here = [row for row in rows if row.platform.startswith(wheel_platform_prefix(machine))]
    pythons = ordered_pythons(frozenset(python for row in here for python in row.pythons) - {stated_python(machine)})
    if refused is None or not pythons:
        return usual_fixes(machine, "python-version-unsupported")
    offered = [text.strip() for text in refused["offered"].split(",") if final_release(text.strip())]
    other = f", or install a release that pip offers, such as {offered[-1]}" if offered else ""
    title = (
        f"Create an environment with Python {pythons[-1]}, the newest for which {refused['name']} {refused['version']} has wheels{other}."
    )
    return (Fix(title, action=Action.INVESTIGATE),)


@rule("GD504", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(_use_newest_python)
@explains(("metal-plugin-missing",), "A plugin does not help a release without wheels for this Python.")
def python_version_unsupported(environment: EnvironmentView) -> Problems:
    """No wheel of this release is published for this Python version."""
    stack = environment.stack
    if not stack.supposed:
        not_applicable("the packages are installed, not planned")
    if not stack.python and common_pythons(stack) == frozenset():
        yield from _packages_without_allowed_python(environment) or [_no_common_python(stated_wheels(stack))]
        return
    python = environment.python
    version = require_known(python.version)
    lacking: list[tuple[Distribution, FrameworkRelease]] = []
    for distribution in stack.distributions.values():
        row = stack.row(distribution)
        if row is not None and lacks_wheel(row, stack):
            lacking.append((distribution, row))
    stated = [pair for pair in lacking if stack.stated(pair[0])]
    for distribution, row in stated or lacking[:1]:
        platform = "any platform" if row.platform == wheel_platform.ANY_PLATFORM else wheel_platform.platform_label(row.platform)
        yield Problem(
            message=f"{distribution.label}{_requiring_clause(distribution, stack)} has no wheel for Python {stack.python} on {platform}, only for Python {python_range(row.pythons)}.",
            evidence=(
                Evidence("Python", version, python.why),
                Evidence(f"Python versions with a wheel of {distribution.label}", " ".join(row.pythons), source_of(row)),
            ),
            fixes=tuple(_fixes(distribution, row, environment, stated=bool(stated))),
        )
    yield from unsupported_packages(environment, version)
    if not lacking:
        yield from unsupported_requirements(environment, version)


def _packages_without_allowed_python(environment: EnvironmentView) -> list[Problem]:
    """Return the problems of packages without a wheel for a Python that the files allow."""
    stack, allowed = environment.stack, environment.stack.allowed
    if allowed is None:
        return []
    apart = [wheel for wheel in stated_wheels(stack) if wheel.pythons.isdisjoint(allowed.versions)]
    follows = {need.text for need in compiled_needs(stack)}
    apart = [one for one in apart if one.package not in follows] or apart
    return [
        Problem(
            message=f"{one.package} has no wheel for Python {allowed.specifier} ({allowed.where}), only for Python {python_range(one.pythons)}.",
            evidence=(
                Evidence("Python", allowed.specifier, allowed.where),
                Evidence(f"Python versions with a wheel of {one.package}", " ".join(ordered_pythons(one.pythons)), one.source),
            ),
            fixes=tuple(_fixes_for_allowed_python(one, environment, allowed)),
        )
        for one in apart
    ]


def _fixes_for_allowed_python(one: WheelPythons, environment: EnvironmentView, allowed: AllowedPythons) -> Iterator[Fix]:
    """Yield another release with a wheel for an allowed Python, and the same release with a Python that the files exclude."""
    stack = environment.stack
    own = next((found for found in stack.distributions.values() if found.label == one.package), None)
    others = list(_install_other_release(own, environment)) if own is not None and own.requirement else []
    yield from (msgspec.structs.replace(fix, kind=FixKind.FIX) for fix in others[:1])
    python = (ordered_pythons(frozenset.intersection(*(found.pythons for found in stated_wheels(stack)))) or ordered_pythons(one.pythons))[
        -1
    ]
    named = own or next((found for found in stack.distributions.values() if found.requirement), None)
    label, pin = (named.label, named.requirement) if named is not None else (one.package, one.package)
    fix = reinstall_with_python(environment, python, label, pin, about=f"which {allowed.where} excludes")
    yield msgspec.structs.replace(fix, kind=FixKind.INSTEAD if others else FixKind.FIX)


def _no_common_python(found: tuple[WheelPythons, ...]) -> Problem:
    """Return the problem of packages that no Python version has wheels of together; the first two of them, if two suffice."""
    apart = next((pair for pair in combinations(found, 2) if pair[0].pythons.isdisjoint(pair[1].pythons)), found)
    return Problem(
        message=f"No Python version has wheels of {joined_words(f'{one.package} (Python {python_range(one.pythons)})' for one in apart)}.",
        title="No Python version has wheels of all packages",
        evidence=tuple(
            Evidence(f"Python versions with a wheel of {one.package}", " ".join(ordered_pythons(one.pythons)), one.source) for one in apart
        ),
        fixes=(Fix("Choose releases that have wheels for the same Python version, or give each its own environment."),),
    )


def _requiring_clause(distribution: Distribution, stack: Stack) -> str:
    """Return which package requires one that was not stated."""
    by = next((demand.by for demand in stack.demands if demand.requirement.name == distribution.name), None)
    return f" (required by {by.label})" if by is not None and not stack.stated(distribution) else ""


def _fixes(distribution: Distribution, row: FrameworkRelease, environment: EnvironmentView, *, stated: bool) -> Iterator[Fix]:
    """Yield the same release with another Python, unless it has no build that works here, and another release."""
    machine, name = environment.machine, distribution.name
    others = list(_install_other_release(distribution, environment)) if stated else []
    release, _, build = distribution.version.partition("+")
    works_elsewhere = framework_of(name) != name or build or pick_release(machine, name, accepts=f"=={release}", any_python=True)
    if others and not works_elsewhere:
        yield from (msgspec.structs.replace(fix, kind=FixKind.FIX) for fix in others)
        return
    yield _use_other_python(distribution, row, environment)
    yield from others


def _use_other_python(distribution: Distribution, row: FrameworkRelease, environment: EnvironmentView) -> Fix:
    """Return the fix that creates an environment with the nearest Python that has a wheel."""
    stack = environment.stack
    stated = [other for other in stack.distributions.values() if other.requirement]
    rows = [row, *(other for other in map(stack.row, stated) if other is not None and other.pythons)]
    common = tuple(set.intersection(*(set(release.pythons) for release in rows)))
    offered = ordered_pythons(common) or ordered_pythons(row.pythons) or list(row.pythons)
    older = [python for python in offered if python_numbers(python) <= python_numbers(stack.python)]
    nearest = older[-1] if older else offered[0]
    named = distribution if distribution.requirement or not stated else stated[0]
    return reinstall_with_python(environment, nearest, named.label, distribution.pinned(distribution.version))


def _install_other_release(distribution: Distribution, environment: EnvironmentView) -> Iterator[Fix]:
    """Return the newest release that has a wheel for this Python and works here."""
    machine, name = environment.machine, distribution.name
    if framework_of(name) == name:
        found = pick_release(machine, name)
        if found is not None:
            yield install_pick(machine, name, found, kind=FixKind.INSTEAD)
        return
    for fix in install_nearest_release(machine, name):
        yield msgspec.structs.replace(fix, kind=FixKind.INSTEAD)
