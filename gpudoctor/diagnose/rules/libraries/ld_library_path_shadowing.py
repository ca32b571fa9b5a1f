"""GD407: ld-library-path-shadowing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudoctor.derive import Hardware, MachineView
from gpudoctor.diagnose.advice.shell import shell_list
from gpudoctor.diagnose.library_facts import PATH, Copy, all_uses, by_path, copy, folder, same_name, told, uses
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.rules.effects import TRAINING_FAILS
from gpudoctor.diagnose.rules.libraries.shadowing import _how, _severity
from gpudoctor.findings import Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import FoundBy, Framework, LibraryFile, LibraryUse, Missing, Variables

_MOST = 4


@rule(
    "GD407",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.FRAMEWORK,
    explains=(
        Explains(
            (
                "cudnn-shadowed-by-system",
                "nccl-version-conflict",
                "cudnn-version-mismatch",
                "cudnn-wrong-major",
                "cudnn-drops-gpu",
                *TRAINING_FAILS,
            ),
            "",
            Join.FRAMEWORK,
        ),
        Explains(
            (
                "cuda-version-mismatch",
                "cuda-mixed-versions",
            ),
            "",
        ),
    ),
)
def ld_library_path_shadowing(
    framework: Framework, machine: MachineView, hardware: Hardware, variables: Variables | Missing
) -> Iterator[Problem]:
    """LD_LIBRARY_PATH puts another copy of a library before the one that the framework was given.

    ## Why it matters
    The loader reads LD_LIBRARY_PATH before the folders that a library names in its RUNPATH. A toolkit's folder in it, set for some other
    program or by an old instruction, replaces the libraries that the framework's packages brought, for every framework started there.
    Of another major release or an older one than the build wants, that ends in "undefined symbol", or in a cuDNN that is refused. Of a
    newer one it mostly works, untested by anybody; of the same one it is worth knowing.

    ## What to do
    Take the folder out of LD_LIBRARY_PATH where the framework runs. Frameworks that bring CUDA as packages need none of it.

    ## References
    - https://man7.org/linux/man-pages/man8/ld.so.8.html
    - https://pytorch.org/get-started/locally/
    """
    found = all_uses(framework, machine, hardware)
    shadowing = tuple(_shadowing(uses(framework, machine, hardware), framework, machine))
    if not shadowing:
        return
    worst = min(shadowing, key=_rank)
    folders = list(dict.fromkeys(folder(one.path) for one in shadowing))
    more = f", and {len(shadowing) - 1} more so" if len(shadowing) > 1 else ""
    kinds = {one.use.component: one for one in sorted(shadowing, key=_rank, reverse=True)}
    yield Problem(
        message=f"{PATH} makes {framework.label} load {worst.use.wanted} from {folder(worst.path)}, not from {folder(worst.instead)}{more}: "
        f"{_how(worst)}.",
        severity=_severity(worst),
        only_for=framework.name,
        evidence=tuple(evidence for one in sorted(kinds.values(), key=_rank)[:_MOST] for evidence in told(one)),
        fixes=_take_out(folders, found, shadowing, variables),
    )


def _shadowing(found: Iterable[LibraryUse], framework: Framework, machine: MachineView) -> Iterator[Copy]:
    for use in found:
        instead = _would_be(use) if by_path(use) else ""
        one = copy(use, instead, framework, machine) if instead else None
        if one is not None:
            yield one


def _would_be(use: LibraryUse) -> str:
    """The copy that the folders named by the framework's own files, or its packages, would give; empty where there is none."""
    named = (place.path for place in use.shadows if place.found_by in {FoundBy.RPATH, FoundBy.RUNPATH})
    return next(named, "") or next((place.path for place in same_name(use) if place.found_by is FoundBy.WHEEL), "")


def _rank(one: Copy) -> int:
    """The worst first."""
    return 0 if one.fatal else ("major", "older", "other", "", "same").index(one.unlike) + 1


def _take_out(
    folders: list[str], found: tuple[LibraryUse, ...], shadowing: tuple[Copy, ...], variables: Variables | Missing
) -> tuple[Fix, ...]:
    """The line that sets the variable to what may stay; where something is found only by that folder, the line that puts another before it."""
    value = "" if isinstance(variables, Missing) else variables.values.get(PATH, "")
    entries = [entry for entry in value.split(":") if entry]
    out = [entry for entry in entries if any(f"{path}/".startswith(f"{entry.rstrip('/')}/") for path in folders)]
    if not out:
        return (Fix(f"Take {' and '.join(folders)} out of {PATH}, where it is set."),)
    if any(_only_there(use, folders) for use in found):
        first = shell_list(dict.fromkeys(folder(one.instead) for one in shadowing))
        title = f"Put the framework's own folders first; {' and '.join(out)} must stay for other libraries"
        return (Fix(title, f'export {PATH}={first}:"${PATH}"'),)
    left = [entry for entry in entries if entry not in out]
    line = f"export {PATH}={shell_list(left)}" if left else f"unset {PATH}"
    return (Fix(f"Take {' and '.join(out)} out of {PATH}, here and where it is set", line),)


def _only_there(use: LibraryUse, folders: list[str]) -> bool:
    """Whether a library would be found no more without these folders."""
    return isinstance(use.file, LibraryFile) and by_path(use) and folder(use.file.path) in folders and not (use.shadows or _would_be(use))
