"""Packages that no table lists release by release, such as NumPy, and the Python versions that their releases have wheels for."""

import msgspec

from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.pythons import begins_after, compiled_needs, holds_one, in_common, numbers, ordered
from gpudoctor.diagnose.advice.environments import with_all_stated
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems
from gpudoctor.findings.naming import joined
from gpudoctor.matrix.cite import cited
from gpudoctor.matrix.rows import PythonSpan
from gpudoctor.versions import Version


def outside_span(environment: EnvironmentView, version: str) -> Problems:
    """Report such packages in a version without wheels for this Python."""
    stack = environment.stack
    asked = {
        distribution.name: f"=={distribution.version.partition('+')[0]}"
        for distribution in stack.distributions.values()
        if distribution.requirement
    }
    refused = {violation.found.name for violation in stack.violations}
    for name, specifier in {**{name: bound.requirement.specifier for name, bound in stack.bounds.items()}, **asked}.items():
        span = stack.matrix.pythons(name).get(stack.python)
        if span is not None and not holds_one(span, specifier):
            nearest, which = _edge(span, specifier)
            another = () if name in refused else _another_python(name, specifier, environment)
            yield Problem(
                message=f"{name}{specifier.replace('==', ' ')} has no wheel for Python {stack.python}: {nearest} is the {which} release with one.",
                evidence=_evidence(environment, version, name, span, specifier),
                fixes=(
                    *another,
                    install_fix(
                        f"Install {name} {nearest}",
                        environment.observed.python,
                        f"{name}=={nearest}",
                        kind=FixKind.INSTEAD if another else FixKind.FIX,
                    ),
                ),
            )


def required_outside_span(environment: EnvironmentView, version: str) -> Problems:
    """Report what stated releases require of compiled packages if only versions without wheels for this Python satisfy it."""
    stack = environment.stack
    for need in compiled_needs(stack):
        span = stack.matrix.pythons(need.name).get(stack.python)
        if span is None or holds_one(span, need.specifier):
            continue
        nearest, which = _edge(span, need.specifier)
        verb = "requires" if len(need.by) == 1 else "require"
        yield Problem(
            message=f"{joined(need.by)} {verb} {need.name}{need.specifier}, which has no wheel for Python {stack.python}: {nearest} is the {which} release with one.",
            evidence=_evidence(environment, version, need.name, span, need.specifier),
            fixes=_python_of_all(environment),
        )


def _edge(span: PythonSpan, specifier: str) -> tuple[Version | None, str]:
    """Return the release with a wheel that is nearest to what a specifier allows, and which of these it is."""
    return (span.last, "last") if begins_after(specifier, span) else (span.first, "first")


def _evidence(environment: EnvironmentView, version: str, name: str, span: PythonSpan, specifier: str) -> tuple[Evidence, ...]:
    nearest, which = _edge(span, specifier)
    return (
        Evidence("Python", version, environment.python.why),
        Evidence(f"{which} {name} with a wheel", str(nearest), cited(span.source)),
    )


def _python_of_all(environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that keeps all that was stated, with the nearest Python that has wheels of it."""
    stack = environment.stack
    fitting, stated = (
        ordered(in_common(stack) or ()),
        next((distribution for distribution in stack.distributions.values() if distribution.requirement), None),
    )
    if not fitting or stated is None:
        return (Fix("Choose releases that have wheels for this Python."),)
    nearest = min(fitting, key=lambda python: abs(numbers(python)[1] - numbers(stack.python)[1]))
    return (with_all_stated(environment, nearest, stated.label, stated.requirement),)


def _another_python(name: str, specifier: str, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that keeps what was asked for, with the nearest Python that has a wheel of it."""
    stack = environment.stack
    here = numbers(stack.python)
    fitting = [python for python, span in stack.matrix.pythons(name).items() if holds_one(span, specifier)]
    if not fitting:
        return ()
    nearest = min(fitting, key=lambda python: abs(numbers(python)[1] - here[1]))
    title = f"Create an environment with Python {nearest}, which has a wheel of {name}{specifier.replace('==', ' ')}"
    return (msgspec.structs.replace(with_all_stated(environment, nearest, name, f"{name}{specifier}"), title=title),)
