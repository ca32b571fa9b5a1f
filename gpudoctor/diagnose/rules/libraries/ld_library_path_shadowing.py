from collections.abc import Iterator

from gpudoctor.derive import FrameworkView
from gpudoctor.derive.libraries import LIBRARY_PATH, folder_of_file, path_in_wheel
from gpudoctor.derive.other_copies import OtherCopy
from gpudoctor.diagnose.advice.shell import prepend_library_path, set_library_path
from gpudoctor.diagnose.rule import TRAINING_FAILS, Join, explains, rule
from gpudoctor.diagnose.rules.libraries.other_copies import conflict_text, copy_evidence, copy_severity
from gpudoctor.findings import Evidence, Fix, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import first_few, singular_or_plural
from gpudoctor.snapshot import FoundBy, LibraryFile, LibraryUse

_WORST_FIRST = ("major", "older", "other", "", "same")


@rule("GD407", severity=Severity.ERROR, breaks=Rung.TRAINED, impact=Impact.AT_RISK)
@explains(
    ("cudnn-shadowed-by-system", "nccl-version-conflict", "cudnn-version-mismatch", "cudnn-wrong-major", "cudnn-drops-gpu"),
    "The wrong copy would be loaded from the folder in LD_LIBRARY_PATH.",
    Join.FRAMEWORK,
)
@explains(TRAINING_FAILS, "The copy in LD_LIBRARY_PATH does not work with the framework.", Join.FRAMEWORK)
@explains(("cuda-version-mismatch", "cuda-mixed-versions"), "The folder in LD_LIBRARY_PATH belongs to another CUDA version.")
def ld_library_path_shadowing(framework: FrameworkView) -> Problems:
    """LD_LIBRARY_PATH shadows the framework's own libraries."""
    found = list(_shadowing_copies(framework))
    if not found:
        return
    copies = sorted(found, key=_severity_order)
    worst, others = copies[0], len(copies) - 1
    folders = list(dict.fromkeys(folder_of_file(copy.path) for copy in found))
    more = f"; {others} more {singular_or_plural(others, 'library is', 'libraries are')} shadowed" if others else ""
    yield Problem(
        message=f"{conflict_text(worst, framework.label, LIBRARY_PATH)}{more}.",
        severity=copy_severity(worst),
        only_for=framework.name,
        evidence=tuple(_evidence(copies)),
        fixes=(_remove_from_path(framework, folders, copies),),
    )


def _shadowing_copies(framework: FrameworkView) -> Iterator[OtherCopy]:
    for use in framework.libraries_used:
        instead = _copy_without_path(use) if use.found_by is FoundBy.LIBRARY_PATH else ""
        copy = framework.other_copy(use, instead) if instead else None
        if copy is not None:
            yield copy


def _copy_without_path(use: LibraryUse) -> str:
    """Return the copy that would be found without the variable, by RPATH or in a package; empty if there is none."""
    named = (place.path for place in use.shadows if place.found_by in {FoundBy.RPATH, FoundBy.RUNPATH})
    return next(named, "") or path_in_wheel(use)


def _severity_order(copy: OtherCopy) -> int:
    """Return the sort key: the worst copy first."""
    return 0 if copy.fatal else _WORST_FIRST.index(copy.difference) + 1


def _evidence(copies: list[OtherCopy]) -> Iterator[Evidence]:
    """Return evidence for the worst copy of each component."""
    worst: dict[str, OtherCopy] = {}
    for copy in copies:
        worst.setdefault(copy.use.component, copy)
    for copy in first_few(tuple(worst.values())):
        yield from copy_evidence(copy)


def _remove_from_path(framework: FrameworkView, folders: list[str], copies: list[OtherCopy]) -> Fix:
    """Return the fix that removes the folders, or puts the framework's folders first if another library is found only there."""
    entries = [entry for entry in framework.machine.variable(LIBRARY_PATH).split(":") if entry]
    out = [entry for entry in entries if any(f"{path}/".startswith(f"{entry.rstrip('/')}/") for path in folders)]
    if not out:
        return Fix(f"Remove {' and '.join(folders)} from {LIBRARY_PATH} where it is set.")
    if any(_is_only_in_folders(use, folders) for use in framework.all_libraries_used):
        own = dict.fromkeys(folder_of_file(copy.instead) for copy in copies)
        title = f"Put the framework's own folders first in {LIBRARY_PATH}; other libraries are only in {' and '.join(out)}"
        return Fix(title, prepend_library_path(*own))
    left = [entry for entry in entries if entry not in out]
    return Fix(f"Remove {' and '.join(out)} from {LIBRARY_PATH}, here and in the profile that sets it", set_library_path(left))


def _is_only_in_folders(use: LibraryUse, folders: list[str]) -> bool:
    """Return whether a library is found only in these folders."""
    in_folders = isinstance(use.file, LibraryFile) and use.found_by is FoundBy.LIBRARY_PATH and folder_of_file(use.file.path) in folders
    return in_folders and not use.shadows and not _copy_without_path(use)
