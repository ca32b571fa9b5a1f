"""GD504: python-version-unsupported."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor import versions
from gpudoctor.derive import MachineView, Stack, wheel_platform
from gpudoctor.derive.packages import known
from gpudoctor.diagnose.advice.installing import in_new_environment, install
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.diagnose.rules.builds.platforms import _STUB, _newest_here
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.snapshot import Distribution, Python


@rule("GD504", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT)
def python_version_unsupported(stack: Stack, python: Python, machine: MachineView) -> Iterator[Problem]:
    """No wheel of this release is published for this Python.

    ## Why it matters
    Compiled packages are published for each minor version of Python by itself. Without a file for this one the installer says that no
    version satisfies the requirement, or takes an older release in silence.

    ## What to do
    Make an environment with a Python that has a wheel, or choose a release that has one for this Python.

    ## References
    - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """
    if not stack.supposed:
        not_applicable("it is installed")
    need(python.version)
    lacking = [(one, row) for one in stack.distributions.values() if (row := stack.row(one)) and row.pythons and row.accelerator != _STUB]
    lacking = [(one, row) for one, row in lacking if stack.python not in row.pythons]
    stated = [(one, row) for one, row in lacking if stack.stated(one)] or lacking[:1]
    for one, row in stated:
        here = wheel_platform.label(row.platform) if row.platform != wheel_platform.ANY else "any platform"
        yield Problem(
            message=f"{one.label} has wheels for Python {_span(row.pythons)} on {here}, and none for {stack.python}.",
            evidence=(
                Evidence("Python", need(python.version), python.why),
                Evidence(f"Pythons that have a wheel of {one.label}", " ".join(row.pythons), known(row)),
            ),
            fixes=(_other_python(one, row, stack.python, machine), *(_other_release(one, machine) if stack.stated(one) else ())),
        )


def _order(python: str) -> tuple[int, ...]:
    found = versions.parse(python)
    return found[:2] if found else ()


def _span(pythons: tuple[str, ...]) -> str:
    plain = sorted((python for python in pythons if not python.endswith("t")), key=_order) or list(pythons)
    return plain[0] if len(plain) == 1 else f"{plain[0]} to {plain[-1]}"


def _other_python(one: Distribution, row: FrameworkRelease, here: str, machine: MachineView) -> Fix:
    """The nearest Python that has a wheel, in an environment of its own with the release in it."""
    plain = sorted((python for python in row.pythons if not python.endswith("t")), key=_order)
    below = [python for python in plain if _order(python) < _order(here)]
    nearest = below[-1] if below else plain[0] if plain else row.pythons[0]
    extras = f"[{','.join(one.extras)}]" if one.extras else ""
    command = in_new_environment(machine, nearest, f"{one.name}{extras}=={one.version}")
    return Fix(f"Make an environment with Python {nearest}, and install it there", command, (DOWNLOAD,))


def _other_release(one: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The newest release that has a wheel for this Python and works here."""
    family = stack_of(one.name)
    if family == one.name:
        found = pick(machine, one.name)
        return (install(machine, one.name, found, kind=FixKind.INSTEAD),) if found is not None else ()
    return tuple(msgspec.structs.replace(fix, kind=FixKind.INSTEAD) for fix in _newest_here(one, machine))
