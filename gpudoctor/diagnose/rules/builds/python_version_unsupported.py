from collections.abc import Iterator
from itertools import combinations

import msgspec

from gpudoctor.derive import EnvironmentView, MachineView, known, not_applicable, wheel_platform
from gpudoctor.derive.packages import Stack, source_of
from gpudoctor.derive.pythons import Wheels, compiled_needs, in_common, lacks_wheel, numbers, ordered, span_of, wheels
from gpudoctor.diagnose.advice.environments import with_all_stated
from gpudoctor.diagnose.advice.from_line import in_log, usual
from gpudoctor.diagnose.advice.installing import install, install_nearest
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.installer_facts import of_wheels, stated_python
from gpudoctor.diagnose.rule import advises, explains, rule
from gpudoctor.diagnose.rules.builds.python_spans import outside_span, required_outside_span
from gpudoctor.expressions import expression
from gpudoctor.findings import Action, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.findings.naming import joined
from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.resolve import final_release
from gpudoctor.snapshot import AllowedPythons, Distribution

_REFUSED = expression(
    r"the requirement (?P<name>[a-z][\w-]{0,40})={2,3}(?P<version>\d[\d.]{0,12}) \(from versions: (?P<offered>[\d.rcabpost, ]{0,4000})"
)
"""pip/_internal/resolution/resolvelib/factory.py; a long line of a log is cut off before the list ends."""

_FAILED = expression(r"\bCommand: [^\n]{0,200} -m pip install (?P<name>torch)==(?P<version>\d[\d.]{0,12})(?P<offered>)")
"""modules/launch_utils.py of stable-diffusion-webui"""


def _another_python(machine: MachineView) -> tuple[Fix, ...]:
    """Return the fix with the newest Python for which what pip refused has wheels; what usually helps where no table lists it."""
    refused = in_log(machine, _REFUSED) or in_log(machine, _FAILED)
    rows = machine.matrix.of_release(refused["name"], refused["version"]) if refused else ()
    here = [row for row in rows if row.platform.startswith(of_wheels(machine))]
    pythons = ordered(frozenset(python for row in here for python in row.pythons) - {stated_python(machine)})
    if refused is None or not pythons:
        return usual(machine, "python-version-unsupported")
    offered = [text.strip() for text in refused["offered"].split(",") if final_release(text.strip())]
    other = f", or install a release that pip offers, such as {offered[-1]}" if offered else ""
    title = (
        f"Create an environment with Python {pythons[-1]}, the newest for which {refused['name']} {refused['version']} has wheels{other}."
    )
    return (Fix(title, action=Action.INVESTIGATE),)


@rule("GD504", severity=Severity.ERROR, breaks=Rung.FRAMEWORK)
@advises(_another_python)
@explains(("metal-plugin-missing",), "A plugin does not help a release without wheels for this Python.")
def python_version_unsupported(environment: EnvironmentView) -> Problems:
    """No wheel of this release is published for this Python version."""
    stack = environment.stack
    if not stack.supposed:
        not_applicable("the packages are installed, not planned")
    if not stack.python and in_common(stack) == frozenset():
        yield from _outside_allowed(environment) or [_none_in_common(wheels(stack))]
        return
    python = environment.python
    version = known(python.version)
    lacking: list[tuple[Distribution, FrameworkRelease]] = []
    for distribution in stack.distributions.values():
        row = stack.row(distribution)
        if row is not None and lacks_wheel(row, stack):
            lacking.append((distribution, row))
    stated = [pair for pair in lacking if stack.stated(pair[0])]
    for distribution, row in stated or lacking[:1]:
        platform = "any platform" if row.platform == wheel_platform.ANY else wheel_platform.label(row.platform)
        yield Problem(
            message=f"{distribution.label}{_required(distribution, stack)} has no wheel for Python {stack.python} on {platform}, only for Python {span_of(row.pythons)}.",
            evidence=(
                Evidence("Python", version, python.why),
                Evidence(f"Python versions with a wheel of {distribution.label}", " ".join(row.pythons), source_of(row)),
            ),
            fixes=tuple(_fixes(distribution, row, environment, stated=bool(stated))),
        )
    yield from outside_span(environment, version)
    if not lacking:
        yield from required_outside_span(environment, version)


def _outside_allowed(environment: EnvironmentView) -> list[Problem]:
    """Return the problems of packages without a wheel for a Python that the files allow."""
    stack, allowed = environment.stack, environment.stack.allowed
    if allowed is None:
        return []
    apart = [wheel for wheel in wheels(stack) if wheel.pythons.isdisjoint(allowed.versions)]
    follows = {need.text for need in compiled_needs(stack)}
    apart = [one for one in apart if one.package not in follows] or apart
    return [
        Problem(
            message=f"{one.package} has no wheel for Python {allowed.specifier} ({allowed.where}), only for Python {span_of(one.pythons)}.",
            evidence=(
                Evidence("Python", allowed.specifier, allowed.where),
                Evidence(f"Python versions with a wheel of {one.package}", " ".join(ordered(one.pythons)), one.source),
            ),
            fixes=tuple(_within_allowed(one, environment, allowed)),
        )
        for one in apart
    ]


def _within_allowed(one: Wheels, environment: EnvironmentView, allowed: AllowedPythons) -> Iterator[Fix]:
    """Yield another release with a wheel for an allowed Python, and the same release with a Python that the files exclude."""
    stack = environment.stack
    own = next((found for found in stack.distributions.values() if found.label == one.package), None)
    others = list(_other_release(own, environment)) if own is not None and own.requirement else []
    yield from (msgspec.structs.replace(fix, kind=FixKind.FIX) for fix in others[:1])
    python = (ordered(frozenset.intersection(*(found.pythons for found in wheels(stack)))) or ordered(one.pythons))[-1]
    named = own or next((found for found in stack.distributions.values() if found.requirement), None)
    label, pin = (named.label, named.requirement) if named is not None else (one.package, one.package)
    fix = with_all_stated(environment, python, label, pin, about=f"which {allowed.where} excludes")
    yield msgspec.structs.replace(fix, kind=FixKind.INSTEAD if others else FixKind.FIX)


def _none_in_common(found: tuple[Wheels, ...]) -> Problem:
    """Return the problem of packages that no Python version has wheels of together; the first two of them, if two suffice."""
    apart = next((pair for pair in combinations(found, 2) if pair[0].pythons.isdisjoint(pair[1].pythons)), found)
    return Problem(
        message=f"No Python version has wheels of {joined(f'{one.package} (Python {span_of(one.pythons)})' for one in apart)}.",
        title="No Python version has wheels of all packages",
        evidence=tuple(
            Evidence(f"Python versions with a wheel of {one.package}", " ".join(ordered(one.pythons)), one.source) for one in apart
        ),
        fixes=(Fix("Choose releases that have wheels for the same Python version, or give each its own environment."),),
    )


def _required(distribution: Distribution, stack: Stack) -> str:
    """Return which package requires one that was not stated."""
    by = next((demand.by for demand in stack.demands if demand.requirement.name == distribution.name), None)
    return f" (required by {by.label})" if by is not None and not stack.stated(distribution) else ""


def _fixes(distribution: Distribution, row: FrameworkRelease, environment: EnvironmentView, *, stated: bool) -> Iterator[Fix]:
    """Yield the same release with another Python, unless it has no build that works here, and another release."""
    machine, name = environment.machine, distribution.name
    others = list(_other_release(distribution, environment)) if stated else []
    release, _, build = distribution.version.partition("+")
    works_elsewhere = framework_of(name) != name or build or pick(machine, name, accepts=f"=={release}", any_python=True)
    if others and not works_elsewhere:
        yield from (msgspec.structs.replace(fix, kind=FixKind.FIX) for fix in others)
        return
    yield _other_python(distribution, row, environment)
    yield from others


def _other_python(distribution: Distribution, row: FrameworkRelease, environment: EnvironmentView) -> Fix:
    """Return the fix that creates an environment with the nearest Python that has a wheel."""
    stack = environment.stack
    stated = [other for other in stack.distributions.values() if other.requirement]
    rows = [row, *(other for other in map(stack.row, stated) if other is not None and other.pythons)]
    common = tuple(set.intersection(*(set(release.pythons) for release in rows)))
    offered = ordered(common) or ordered(row.pythons) or list(row.pythons)
    older = [python for python in offered if numbers(python) <= numbers(stack.python)]
    nearest = older[-1] if older else offered[0]
    named = distribution if distribution.requirement or not stated else stated[0]
    return with_all_stated(environment, nearest, named.label, distribution.pinned(distribution.version))


def _other_release(distribution: Distribution, environment: EnvironmentView) -> Iterator[Fix]:
    """Return the newest release that has a wheel for this Python and works here."""
    machine, name = environment.machine, distribution.name
    if framework_of(name) == name:
        found = pick(machine, name)
        if found is not None:
            yield install(machine, name, found, kind=FixKind.INSTEAD)
        return
    for fix in install_nearest(machine, name):
        yield msgspec.structs.replace(fix, kind=FixKind.INSTEAD)
