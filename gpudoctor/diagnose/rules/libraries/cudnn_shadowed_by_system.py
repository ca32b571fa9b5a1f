from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import PATH, copy_in_wheel, folder
from gpudoctor.diagnose.advice.shell import put_first
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.other_copies import conflict_text, copy_evidence, severity_of
from gpudoctor.findings import Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import LibraryFile, LibraryUse

_OTHERS = {"system", "toolkit", "conda"}
"""Owners outside the environment's Python packages."""
_IN_WHEELS = ("/site-packages/nvidia/", "/dist-packages/nvidia/")


@rule("GD408", severity=Severity.ERROR, breaks=Rung.TRAINED)
@explains(
    ("cudnn-version-mismatch", "cudnn-wrong-major", "cudnn-drops-gpu"),
    "The cuDNN that would be loaded is not the one installed for the framework.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "The framework refuses a cuDNN that is older than its build needs.", Join.FRAMEWORK)
def cudnn_shadowed_by_system(framework: FrameworkView) -> Problems:
    """System cuDNN shadows the environment's cuDNN package."""
    for use in framework.libraries_used:
        package = _package_copy(use) if use.component == "cudnn" else ""
        if not package or not isinstance(use.file, LibraryFile) or use.file.owner not in _OTHERS:
            continue
        copy = framework.other_copy(use, package)
        if copy is not None:
            yield Problem(
                message=f"{conflict_text(copy, framework.label, str(use.file.owner))}.",
                severity=severity_of(copy),
                only_for=framework.name,
                evidence=tuple(copy_evidence(copy)),
                fixes=(
                    Fix(f"Put the package's folder first in {PATH}, for this environment only", put_first(folder(package))),
                    Fix(f"Remove {copy.path} if nothing else needs it.", kind=FixKind.INSTEAD),
                ),
            )
        return


def _package_copy(use: LibraryUse) -> str:
    """Return the path of the copy that an nvidia-cudnn package installed; empty if there is none."""
    shadowed = (place.path for place in use.shadows if any(part in place.path for part in _IN_WHEELS))
    return next(shadowed, "") or copy_in_wheel(use)
