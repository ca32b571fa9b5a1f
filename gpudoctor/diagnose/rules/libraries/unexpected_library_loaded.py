"""GD418: unexpected-library-loaded."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.derive.code import xray
from gpudoctor.derive.mapped_libraries import unexpected
from gpudoctor.diagnose.advice.packages import interpreter
from gpudoctor.diagnose.library_facts import xrayed
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Framework, Smoke


@rule("GD418", severity=Severity.NOTE, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.FRAMEWORK, predicts=False, seen_at=Level.TRAIN)
def unexpected_library_loaded(framework: Framework, smoke: Smoke, machine: MachineView) -> Iterator[Problem]:
    """The framework loaded another file of a library than the X-ray expected.

    ## Why it matters
    The X-ray follows the dynamic loader's rules; the smoke training says which files its process really mapped. Where they differ, something
    loads libraries besides: a sitecustomize.py, an audit library, code of the environment that opens one by its path. What the other rules
    say of that library is then about a file that is not used.

    ## What to do
    Look for what loads it; with LD_DEBUG=libs the loader tells each step.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """
    seen = xray(framework, xrayed(machine))
    if seen is None:
        not_applicable(f"there is no X-ray of {framework.name}")
    found = tuple(unexpected(seen, need(smoke.mapped)))
    if found:
        yield Problem(
            message=f"{framework.label} loaded {found[0].mapped}, where {found[0].simulated or 'no file at all'} was expected.",
            evidence=tuple(
                row
                for one in found
                for row in (
                    Evidence(one.use.wanted, one.mapped, "/proc/self/maps of the smoke training"),
                    Evidence(f"{one.use.wanted}, expected", one.simulated or "none", one.use.why or "the X-ray"),
                )
            ),
            fixes=(
                Fix(
                    "See which step loads it",
                    f"LD_DEBUG=libs {interpreter(machine.observed.python)} -c 'import {framework.name}' 2>&1 | grep {found[0].use.wanted}",
                    kind=FixKind.CHECK,
                ),
            ),
        )
