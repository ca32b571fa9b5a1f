"""GD516: cupy-wheel-cuda-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Driver, MachineView, Stack
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import newest
from gpudoctor.diagnose.package_facts import (
    shown,
    there,
)
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Distribution, Missing, Toolkit
from gpudoctor.versions import Version


@rule("GD516", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.ENVIRONMENT)
def cupy_wheel_cuda_mismatch(stack: Stack, machine: MachineView) -> Iterator[Problem]:
    """CuPy's wheel is for another CUDA than the one here, or there are several.

    ## Why it matters
    CuPy is published once for each major release of CUDA (cupy-cuda11x, cupy-cuda12x) and loads that release's libraries when a program
    first computes. The wheels all install the package cupy: two of them overwrite each other's files.

    ## What to do
    Keep one CuPy wheel, the one for the CUDA that is installed here.

    ## References
    - https://docs.cupy.dev/en/stable/install.html
    """
    wheels = [one for one in stack.distributions.values() if one.name.startswith("cupy")]
    if not wheels:
        not_applicable("no CuPy is listed")
    if len(wheels) > 1:
        yield Problem(
            message=f"{' and '.join(one.label for one in wheels)} {there(stack, many=True)}: both hold the package cupy.",
            evidence=tuple(map(shown, wheels)),
            fixes=_one_cupy(wheels, machine),
        )
        return
    wheel = wheels[0]
    wanted = wheel.name.removeprefix("cupy-cuda")[:2]
    found = dict(_cuda_majors(stack, machine))
    if not wanted.isdigit() or not found or wanted in found:
        return
    yield Problem(
        message=f"{wheel.label} is for CUDA {wanted}, and the CUDA here is {' and '.join(found)}.",
        severity=Severity.ERROR if stack.supposed else None,
        confidence=Confidence.LIKELY,
        evidence=(shown(wheel), *(Evidence(f"CUDA {major}", where, where) for major, where in found.items())),
        fixes=_one_cupy(wheels, machine, max(found)),
    )


def _one_cupy(wheels: list[Distribution], machine: MachineView, major: str = "") -> tuple[Fix, ...]:
    """One wheel in place of those that are there: for the CUDA that is here, or else for the one that the driver serves."""
    driver = machine.driver_or_missing
    served = driver.cuda_served if isinstance(driver, Driver) else None
    stack = machine.stack_or_missing
    here = dict(_cuda_majors(stack, machine)) if isinstance(stack, Stack) else {}
    wanted = major or max(here, default="") or (str(served.major) if isinstance(served, Version) else "12")
    name = f"cupy-cuda{wanted}x"
    release = newest(machine, name)
    if not release:
        return (Fix(f"Remove {' and '.join(one.name for one in wheels)}: no CuPy for CUDA {wanted} and this Python is known."),)
    command = install_package(machine.observed.python, f"{name}=={release}", replace=tuple(one.name for one in wheels))
    return (Fix(f"Keep one CuPy wheel, the one for CUDA {wanted}", command, (DOWNLOAD,)),)


def _cuda_majors(stack: Stack, machine: MachineView) -> Iterator[tuple[str, str]]:
    """The major releases of CUDA whose runtime is there, and where."""
    toolkits: tuple[Toolkit, ...] = () if isinstance(machine.observed.toolkits, Missing) else machine.observed.toolkits
    for toolkit in toolkits:
        if not isinstance(toolkit.toolkit_cuda, Missing):
            yield toolkit.toolkit_cuda.value.partition(".")[0], f"toolkit {toolkit.path or toolkit.toolkit_cuda.where}"
    for one in stack.distributions.values():
        if one.name.startswith("nvidia-cuda-runtime"):
            yield one.version.partition(".")[0], f"{one.label} in {one.where}"
