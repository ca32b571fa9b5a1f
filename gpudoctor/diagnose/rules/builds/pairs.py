"""GD5: the parts of one stack that must be of the same release, or built for the same CUDA."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import Violation
from gpudoctor.derive.wheel_platform import LINUX
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import TORCH_INDEX
from gpudoctor.diagnose.package_facts import (
    demanded,
    local,
    shown,
    there,
)
from gpudoctor.diagnose.rule import not_applicable
from gpudoctor.findings import Fix, Problem, Severity
from gpudoctor.snapshot import Distribution, Missing


def _beside_torch(stack: Stack, name: str, refused: list[Violation], machine: MachineView, why: str) -> Iterator[Problem]:
    """What is wrong between torch and a library that is built for one release of it."""
    torch, library = stack.distributions.get("torch"), stack.distributions.get(name)
    if torch is None or library is None:
        not_applicable(f"torch and {name} are not both there")
    builds = {local(one.version) for one in (torch, library)}
    if not refused and (len(builds) == 1 or "" in builds):
        return
    differ = f"{refused[0].demand.text}, and torch {torch.version} {there(stack)}" if refused else _other_build(torch, library)
    yield Problem(
        message=f"{differ}: {why}",
        severity=Severity.ERROR if stack.supposed else None,
        evidence=(shown(torch), shown(library), *demanded(refused)),
        fixes=_fitting(torch, library, machine),
    )


def _fitting(torch: Distribution, library: Distribution, machine: MachineView) -> tuple[Fix, ...]:
    """The release of the library that was published with this torch, from the index of its build; where none is known, both anew."""
    release, _, tag = torch.version.partition("+")
    stack = machine.stack_or_missing
    rows = () if isinstance(stack, Missing) else machine.matrix.releases(library.name, stack.platform or LINUX)
    short = "" if isinstance(stack, Missing) else stack.python
    fitting = [row for row in rows if f"torch=={release}" in row.requires and (not short or not row.pythons or short in row.pythons)]
    if not fitting:
        return install_framework(machine, "torch", title=f"Install torch and {library.name} of releases that fit")
    local_version = f"+{tag}" if tag.startswith(("cu", "cpu")) else ""
    index = f"{TORCH_INDEX}/{tag}" if local_version else ""
    pin = f"{library.name}=={fitting[-1].release}{local_version}"
    # of the same public version pip leaves what is there, whatever CUDA it is built for
    again = (
        ("--force-reinstall", "--no-deps") if library.version.partition("+")[0] == str(fitting[-1].release) and not local_version else ()
    )
    command = install_package(machine.observed.python, *again, pin, index=index)
    return (Fix(f"Install the {library.name} that was published with torch {torch.version}", command, (DOWNLOAD,)),)


def _other_build(torch: Distribution, library: Distribution) -> str:
    return f"torch {torch.version} and {library.label} are builds for different CUDA releases"
