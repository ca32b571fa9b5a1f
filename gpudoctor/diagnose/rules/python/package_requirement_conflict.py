"""GD609: package-requirement-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import Violation
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.package_facts import demanded, named_by, shown
from gpudoctor.diagnose.rule import rule
from gpudoctor.diagnose.rules.python.packages import _NVIDIA, _accepted, _contradicted, _unmet
from gpudoctor.findings import Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Distribution


@rule("GD609", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def package_requirement_conflict(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """A package is outside the bounds that another one states for it.

    ## Why it matters
    An installer keeps these bounds only for what it installs in one go: a later command may move a package out of them, and says so in a
    line that is easily missed. Whether it fails depends on the packages; for what is still to be installed the installer refuses.

    ## What to do
    Install all of them in one command, so that the installer finds releases that agree, or give them environments of their own.

    ## References
    - https://pip.pypa.io/en/stable/topics/dependency-resolution/
    """
    unmet = [one for one in stack.violations if named_by(one) == package_requirement_conflict.name]
    for found in dict.fromkeys(one.found for one in unmet):
        mine = [one for one in unmet if one.found == found]
        yield Problem(
            message=_unmet(mine, stack),
            severity=Severity.ERROR if stack.supposed else None,
            evidence=(shown(found), *demanded(mine)),
            fixes=_agreeing(found, mine, machine),
        )
    yield from (_contradicted(one) for one in stack.contradictions if not one.name.startswith(_NVIDIA))


def _agreeing(found: Distribution, unmet: list[Violation], machine: MachineView) -> tuple[Fix, ...]:
    wanted = _accepted(unmet)
    specifier = wanted.removeprefix(found.name)
    if stack_of(found.name) == found.name and pick(machine, found.name, accepts=specifier) is not None:
        return install_framework(machine, found.name, accepts=specifier)
    return (Fix(f"Install a {found.name} within the bounds", install_package(machine.observed.python, wanted), (DOWNLOAD,)),)
