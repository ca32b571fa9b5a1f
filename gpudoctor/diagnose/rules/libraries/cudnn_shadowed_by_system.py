from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import LIBRARY_PATH, folder_of_file, path_in_wheel
from gpudoctor.diagnose.advice.shell import prepend_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.other_copies import conflict_text, copy_evidence, copy_severity
from gpudoctor.findings import Fix, FixKind, Problem, Problems, Rung, Severity
from gpudoctor.snapshot import LibraryFile, LibraryUse

_FOREIGN_OWNERS = {"system", "toolkit", "conda"}
"""Owners outside the environment's Python packages."""
_WHEEL_FOLDERS = ("/site-packages/nvidia/", "/dist-packages/nvidia/")


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
        package = _path_in_package(use) if use.component == "cudnn" else ""
        if not package or not isinstance(use.file, LibraryFile) or use.file.owner not in _FOREIGN_OWNERS:
            continue
        copy = framework.other_copy(use, package)
        if copy is not None:
            yield Problem(
                message=f"{conflict_text(copy, framework.label, str(use.file.owner))}.",
                severity=copy_severity(copy),
                only_for=framework.name,
                evidence=tuple(copy_evidence(copy)),
                fixes=(
                    Fix(
                        f"Put the package's folder first in {LIBRARY_PATH}, for this environment only",
                        prepend_library_path(folder_of_file(package)),
                    ),
                    Fix(f"Remove {copy.path} if nothing else needs it.", kind=FixKind.INSTEAD),
                ),
            )
        return


def _path_in_package(use: LibraryUse) -> str:
    """Return the path of the copy that an nvidia-cudnn package installed; empty if there is none."""
    shadowed = (place.path for place in use.shadows if any(part in place.path for part in _WHEEL_FOLDERS))
    return next(shadowed, "") or path_in_wheel(use)
