"""Packages that no table lists release by release, such as NumPy, and the Python versions that their releases have wheels for."""

import msgspec

from gpudoctor.derive import EnvironmentView
from gpudoctor.derive.pythons import common_pythons, compiled_needs, has_release_in_span, is_after_span, ordered_pythons, python_numbers
from gpudoctor.diagnose.advice.environments import reinstall_with_python
from gpudoctor.diagnose.advice.packages import install_fix
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Problems
from gpudoctor.findings.wording import joined_words
from gpudoctor.matrix.citations import citation
from gpudoctor.matrix.rows import PythonSpan
from gpudoctor.versions import Version


def unsupported_packages(environment: EnvironmentView, version: str) -> Problems:
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
        if span is not None and not has_release_in_span(span, specifier):
            nearest, which = _nearest_in_span(span, specifier)
            another = () if name in refused else _use_nearest_python(name, specifier, environment)
            yield Problem(
                message=f"{name}{specifier.replace('==', ' ')} has no wheel for Python {stack.python}: {nearest} is the {which} release with one.",
                evidence=_span_evidence(environment, version, name, span, specifier),
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


def unsupported_requirements(environment: EnvironmentView, version: str) -> Problems:
    """Report what stated releases require of compiled packages if only versions without wheels for this Python satisfy it."""
    stack = environment.stack
    for need in compiled_needs(stack):
        span = stack.matrix.pythons(need.name).get(stack.python)
        if span is None or has_release_in_span(span, need.specifier):
            continue
        nearest, which = _nearest_in_span(span, need.specifier)
        verb = "requires" if len(need.by) == 1 else "require"
        yield Problem(
            message=f"{joined_words(need.by)} {verb} {need.name}{need.specifier}, which has no wheel for Python {stack.python}: {nearest} is the {which} release with one.",
            evidence=_span_evidence(environment, version, need.name, span, need.specifier),
            fixes=_use_common_python(environment),
        )


def _nearest_in_span(span: PythonSpan, specifier: str) -> tuple[Version | None, str]:
    """Return the release with a wheel that is nearest to what a specifier allows, and which of these it is."""
    return (span.last, "last") if is_after_span(specifier, span) else (span.first, "first")


def _span_evidence(environment: EnvironmentView, version: str, name: str, span: PythonSpan, specifier: str) -> tuple[Evidence, ...]:
    nearest, which = _nearest_in_span(span, specifier)
    return (
        Evidence("Python", version, environment.python.why),
        Evidence(f"{which} {name} with a wheel", str(nearest), citation(span.source)),
    )


def _use_common_python(environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that keeps all that was stated, with the nearest Python that has wheels of it."""
    stack = environment.stack
    fitting, stated = (
        ordered_pythons(common_pythons(stack) or ()),
        next((distribution for distribution in stack.distributions.values() if distribution.requirement), None),
    )
    if not fitting or stated is None:
        return (Fix("Choose releases that have wheels for this Python."),)
    nearest = min(fitting, key=lambda python: abs(python_numbers(python)[1] - python_numbers(stack.python)[1]))
    return (reinstall_with_python(environment, nearest, stated.label, stated.requirement),)


def _use_nearest_python(name: str, specifier: str, environment: EnvironmentView) -> tuple[Fix, ...]:
    """Return the fix that keeps what was asked for, with the nearest Python that has a wheel of it."""
    stack = environment.stack
    here = python_numbers(stack.python)
    fitting = [python for python, span in stack.matrix.pythons(name).items() if has_release_in_span(span, specifier)]
    if not fitting:
        return ()
    nearest = min(fitting, key=lambda python: abs(python_numbers(python)[1] - here[1]))
    title = f"Create an environment with Python {nearest}, which has a wheel of {name}{specifier.replace('==', ' ')}"
    return (msgspec.structs.replace(reinstall_with_python(environment, nearest, name, f"{name}{specifier}"), title=title),)
