"""GD5 and GD6: what is published, with CUDA or at all, for this operating system, architecture and Python."""

from __future__ import annotations

from gpudoctor.derive import MachineView, Stack
from gpudoctor.diagnose.advice.installing import install_framework
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest, pick
from gpudoctor.findings import Fix
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Distribution, Framework, Missing

_STUB = "stub"


def _asked(framework: Framework, stack: Stack | Missing) -> Distribution | None:
    """The framework's own distribution."""
    return stack.distributions.get(framework.distribution) if isinstance(stack, Stack) else None


def _newest_here(one: Distribution, machine: MachineView, accepts: str = "") -> tuple[Fix, ...]:
    """The newest release for this platform and Python."""
    if stack_of(one.name) == one.name and pick(machine, one.name, accepts=accepts) is not None:
        return install_framework(machine, one.name, accepts=accepts)
    release = newest(machine, one.name, accepts=accepts)
    if not release:
        return (Fix(f"Leave {one.name} out: no release of it is published for this platform and Python."),)
    title = "Install the newest release that is published for this platform"
    return (Fix(title, install_package(machine.observed.python, f"{one.name}=={release}"), (DOWNLOAD,)),)
