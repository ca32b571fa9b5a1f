"""GD608: package-not-installable."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack, wheel_platform
from gpudoctor.derive.cuda import STUB
from gpudoctor.derive.packages import source_of
from gpudoctor.diagnose.advice.installing import install_framework, install_newest
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import FrameworkRelease
from gpudoctor.matrix.resolve import final_release
from gpudoctor.snapshot import Distribution


@rule("GD608", severity=Severity.ERROR, breaks=Rung.FRAMEWORK, since="0.1", about=SubjectKind.ENVIRONMENT)
def package_not_installable(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """The release cannot be installed: it is not there, or only a stub, or not for this platform.

    ## Why it matters
    The installer ends with "no matching distribution found", or runs the stub's setup script, which refuses and names another package.
    tensorflow-gpu is such a stub since 2.12: tensorflow itself is the package with CUDA.

    ## What to do
    Ask for a release that is published for this platform, or for the package that took the place of the stub.

    ## References
    - https://www.tensorflow.org/install/pip
    """
    if not stack.supposed:
        not_applicable("it is installed")
    for one in stack.distributions.values():
        row = stack.row(one)
        if row is not None and row.accelerator == STUB:
            yield _stub(one, row, machine)
        elif row is None and stack.matrix.releases(one.name):
            yield from _unpublished(one, stack, machine)


def _stub(one: Distribution, row: FrameworkRelease, machine: MachineView) -> Problem:
    instead = one.name.removesuffix("-gpu").removesuffix("-cpu")
    return Problem(
        message=f"{one.label} is only a stub that refuses to be installed.",
        evidence=(Evidence(one.label, row.note or "a stub", source_of(row)),),
        fixes=install_framework(machine, instead, prefer=one.version) if instead != one.name else (),
    )


def _unpublished(one: Distribution, stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """A release that is not there, or not for this platform. Newer than the newest row, older than the oldest: unknown, no fault.

    Of the builds of a release ("+cu118") no list is complete, so a build that is not listed is no fault either.
    """
    rows = stack.matrix.releases(one.name)
    public, _, local = one.version.partition("+")
    release = final_release(public)
    if local or release is None or not rows[0].release <= release <= rows[-1].release:
        return
    others = stack.elsewhere(one) if stack.platform else {}
    if others:
        here = wheel_platform.label(stack.platform)
        message = f"{one.label} has no wheel for {here}; it has for {', '.join(map(wheel_platform.label, others))}."
        evidence = tuple(Evidence(f"wheel for {wheel_platform.label(name)}", "published", source_of(row)) for name, row in others.items())
    else:
        near = list(dict.fromkeys(str(row.release) for row in rows if row.release[:2] == release[:2]))
        if not near or any(row.release == release for row in rows):
            return  # a table may leave out what lies between equals
        message = (
            f"There is no release {public} of {one.name}; of {release.short} there {'is' if len(near) == 1 else 'are'} {' '.join(near)}."
        )
        evidence = (Evidence(f"releases of {one.name}", " ".join(near), source_of(rows[-1])),)
    yield Problem(message=message, evidence=evidence, fixes=install_newest(machine, one.name))
