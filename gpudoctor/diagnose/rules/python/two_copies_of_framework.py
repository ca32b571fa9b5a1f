"""GD610: two-copies-of-framework."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.installing import install
from gpudoctor.diagnose.advice.needs import DOWNLOAD
from gpudoctor.diagnose.advice.packages import install_package, remove_packages
from gpudoctor.diagnose.advice.releases import pick
from gpudoctor.diagnose.package_facts import shown
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.python.installations import _rename
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.frameworks import framework_of, spec_of
from gpudoctor.snapshot import Distribution, Fact, Framework, Packages


@rule(
    "GD610",
    severity=Severity.WARNING,
    breaks=Rung.FRAMEWORK,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(TRAINING_FAILS, "", Join.FRAMEWORK),
        Explains(
            (
                "package-requirement-conflict",
                "nvidia-wheel-version-conflict",
                "torch-torchvision-mismatch",
                "torch-torchaudio-mismatch",
            ),
            "",
        ),
    ),
)
def two_copies_of_framework(framework: Framework, packages: Packages, machine: MachineView) -> Iterator[Problem]:
    """The framework is there twice, or a file of its name comes before it.

    ## Why it matters
    An import takes the first copy on sys.path: one in the user's own folder or on PYTHONPATH hides the one in the environment, and a file
    torch.py hides the package torch. Two distributions of one framework in one folder (tensorflow and tensorflow-cpu) hold the same files,
    and removing either damages the other.

    ## What to do
    Keep one. After removing one of two that shared a folder, install the other again. PYTHONNOUSERSITE=1 leaves the user's folder out.

    ## References
    - https://docs.python.org/3/library/sys_path_init.html
    """
    if isinstance(framework.shadow, str):
        yield Problem(
            message=f"{framework.shadow} comes before the package {framework.name} on sys.path: an import takes that file.",
            title="A file hides the framework",
            severity=Severity.ERROR,
            evidence=(Evidence(f"first {framework.name} on sys.path", framework.shadow, "the folders on sys.path"),),
            fixes=(_rename(framework.shadow),),
        )
    left = [one for one in packages.leftovers if framework_of(one.name) == framework.name]
    if left:
        yield _leftover(framework, left)
    copies = [one for one in packages.distributions if framework_of(one.name) == framework.name]
    spec = spec_of(framework.name)
    if any(one.name in spec.tabled for one in copies):
        copies = [one for one in copies if one.name not in spec.stand_ins]
    copies = list({(one.name, one.version, one.where): one for one in copies}.values())
    if len(copies) < 2:
        return
    apart = len({one.where for one in copies}) > 1
    how = f"an import takes that in {framework.location}" if apart and isinstance(framework.location, str) else "they hold the same files"
    yield Problem(
        message=f"{framework.name} is installed {len(copies)} times: {', '.join(f'{one.label} in {one.where}' for one in copies)}; {how}.",
        confidence=Confidence.CERTAIN if apart else Confidence.LIKELY,
        evidence=tuple(map(shown, copies)),
        fixes=_one_copy(framework, copies, machine, apart=apart),
    )


def _leftover(framework: Framework, left: list[Distribution]) -> Problem:
    """Metadata of a release that is no longer there: pip is misled by it, an import is not."""
    release = framework.version.value if isinstance(framework.version, Fact) else "another release"
    folders = shlex.join(f"{one.where}/{one.name.replace('-', '_')}-{one.version}.dist-info" for one in left)
    return Problem(
        message=f"The files of {framework.name} are of {release}; metadata of {' and '.join(one.version for one in left)} was left beside them.",
        title="Metadata of a different version was left behind",
        severity=Severity.NOTE,
        evidence=tuple(map(shown, left)),
        fixes=(Fix("Remove the metadata that was left behind", f"rm -r {folders}"),),
    )


def _one_copy(framework: Framework, copies: list[Distribution], machine: MachineView, *, apart: bool) -> tuple[Fix, ...]:
    if apart:
        command = remove_packages(machine.observed.python, copies[0].name)
        return (
            Fix("Remove the first copy, which is the one that pip removes", command),
            Fix("Leave the user's own folder out", "export PYTHONNOUSERSITE=1", kind=FixKind.INSTEAD),
        )
    names = tuple(dict.fromkeys(one.name for one in copies))
    found = pick(machine, framework.name, prefer=copies[-1].version.partition("+")[0]) if machine.hardware else None
    title = f"Remove {' and '.join(names)}, and install one of them again"
    if found is not None:
        again = install(machine, framework.name, found)
        return (Fix(title, f"{remove_packages(machine.observed.python, *names)} && {again.command}", (DOWNLOAD,)),)
    one = f"{copies[-1].name}=={copies[-1].version}"
    return (Fix(title, install_package(machine.observed.python, one, replace=names), (DOWNLOAD,)),)
