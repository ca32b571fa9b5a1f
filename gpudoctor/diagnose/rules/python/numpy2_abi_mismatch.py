"""GD605: numpy2-abi-mismatch."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import MachineView, Stack
from gpudoctor.derive.packages import major, source_of
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.package_facts import demanded, shown, there
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.packages import _of
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import stack_of
from gpudoctor.snapshot import Framework, Missing, Python


@rule(
    "GD605",
    severity=Severity.ERROR,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    on_cpu_too=True,
    explains=(Explains(TRAINING_FAILS, "", Join.FRAMEWORK),),
)
def numpy2_abi_mismatch(framework: Framework, stack: Stack, machine: MachineView, python: Python | Missing) -> Iterator[Problem]:
    """The framework is compiled for NumPy 1 and NumPy 2 is there.

    ## Why it matters
    NumPy 2 changed its binary interface: modules that were compiled against NumPy 1 do not run with it. TensorFlow stops at import;
    PyTorch warns at import and fails where a tensor meets an array ("Numpy is not available").

    ## What to do
    Install NumPy 1, or a release of the framework that was compiled against NumPy 2, which runs with both.

    ## References
    - https://numpy.org/doc/stable/dev/depending_on_numpy.html#numpy-2-0-specific-advice
    """
    numpy = stack.distributions.get("numpy")
    if numpy is None:
        not_applicable("no NumPy is listed")
    if (major(numpy.version) or 0) < 2:
        return
    bound = _of(stack, numpy2_abi_mismatch.name, framework)
    compiled = [(one, row) for one, row in stack.built_for_numpy_1 if stack_of(one.name) == framework.name]
    if not bound and not compiled:
        return
    who = (compiled[0][0] if compiled else bound[0].demand.by).label
    yield Problem(
        message=f"{who} is compiled for NumPy 1, and NumPy {numpy.version} {there(stack)}.",
        confidence=Confidence.CERTAIN if compiled or stack.supposed else Confidence.LIKELY,
        evidence=(
            shown(numpy),
            *(Evidence(f"NumPy that {one.label} is compiled for", "1", source_of(row)) for one, row in compiled),
            *demanded(bound),
        ),
        fixes=(
            Fix("Install NumPy 1", install_package(python, "numpy<2"), (DOWNLOAD,)),
            *_for_numpy_2(framework, machine),
        ),
    )


def _for_numpy_2(framework: Framework, machine: MachineView) -> tuple[Fix, ...]:
    """A release that works here and is compiled for NumPy 2, in place of NumPy 1."""
    found = pick(machine, framework.name)
    row = next((one for one in machine.matrix.releases(framework.distribution) if found and str(one.release) == found.release), None)
    if found is None or row is None or row.numpy_abi != 2 or found.release == framework.release:
        return ()
    return (install(machine, framework.name, found, title=f"Install {found.name}, which is compiled for NumPy 2", kind=FixKind.INSTEAD),)
