"""GD408: cudnn-shadowed-by-system."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.library_facts import PATH, copy, folder, same_name, told, uses
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.shadowing import _how, _severity
from gpudoctor.findings import Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import FoundBy, Framework, LibraryFile, LibraryUse

_OTHERS = {"system", "toolkit", "conda"}
"""Owners of a file that no package of the environment brought."""


@rule(
    "GD408",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cudnn-version-mismatch",
                "cudnn-wrong-major",
                "cudnn-drops-gpu",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
    ),
)
def cudnn_shadowed_by_system(framework: Framework, machine: MachineView, hardware: Hardware) -> Iterator[Problem]:
    """The cuDNN of the system, of a toolkit or of conda wins over the environment's own package.

    ## Why it matters
    The package nvidia-cudnn-... was installed because the framework was built with that release. A build that does not look into the
    packages' folders, or a process whose LD_LIBRARY_PATH names another, takes the cuDNN that an administrator or conda installed. An
    older one is refused ("Loaded runtime CuDNN library ... but source was compiled with ..."), whatever `pip list` says.

    ## What to do
    Put the package's folder before the other on the loader's path, or remove the other copy if nothing else needs it.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://docs.nvidia.com/deeplearning/cudnn/installation/latest/
    """
    found = [use for use in uses(framework, machine, hardware) if use.component == "cudnn"]
    use = next((use for use in found if isinstance(use.file, LibraryFile) and use.file.owner in _OTHERS and _package(use)), None)
    one = copy(use, _package(use), framework, machine) if use is not None else None
    if one is None or not isinstance(one.use.file, LibraryFile):
        return
    first = f'export {PATH}={shell_path(folder(one.instead))}"${{{PATH}:+:${PATH}}}"'
    yield Problem(
        message=f"{framework.label} would load cuDNN from {one.path} ({one.use.file.owner}), not from the environment's package: {_how(one)}.",
        severity=_severity(one),
        only_for=framework.name,
        evidence=tuple(told(one)),
        fixes=(
            Fix("Put the package's folder first, for this environment only", first),
            Fix(f"Remove {one.path}, if nothing else needs it.", kind=FixKind.INSTEAD),
        ),
    )


def _package(use: LibraryUse) -> str:
    """The copy that one of NVIDIA's packages brought; empty where there is none."""
    named = (place.path for place in use.shadows if "/site-packages/nvidia/" in place.path or "/dist-packages/nvidia/" in place.path)
    return next(named, "") or next((place.path for place in same_name(use) if place.found_by is FoundBy.WHEEL), "")
