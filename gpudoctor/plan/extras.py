"""The extras with which a release installs what it cannot compute without: a framework, or CUDA's libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from gpudoctor.derive.cuda_libraries import WHEELS
from gpudoctor.derive.specifiers import BESIDE, Requirement, only_version, requirements_in
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.matrix import FrameworkRelease, Matrix

_EXTRA = re.compile(r'extra=="([^"]+)"')
_LIBRARIES = (WHEELS["cudart"], WHEELS["cudnn"], "cuda-toolkit")


def needed(row: FrameworkRelease, frameworks: Iterable[str], *, gpu: bool) -> tuple[str, ...]:
    """Return the extras to ask for: those that install CUDA on a machine with a GPU, or the one that installs the frameworks.

    `frameworks` are those that the package cannot do without.
    """
    asked = tuple(requirements_in(row.requires))
    always = {wanted.name for wanted in asked if _is_always_there(wanted)}
    lacking = [name for name in frameworks if name not in always]
    if lacking:
        return _with_framework(asked, lacking[0])
    return _with_cuda(asked) if gpu and row.accelerator == "cuda" and always.isdisjoint(_of_libraries(asked)) else ()


def frameworks_of(rows: Sequence[FrameworkRelease]) -> tuple[str, ...]:
    """Return the frameworks that the newest release of a package requires without an extra."""
    required = {wanted.name for wanted in requirements_in(rows[-1].requires) if _is_always_there(wanted)}
    return tuple(spec.name for spec in CATALOGUE if spec.name in required)


def frameworks_behind(package: str, matrix: Matrix) -> tuple[str, ...]:
    """Return the frameworks that the newest release of a package requires, or that a package which it requires does; none if no table lists it."""
    rows = matrix.releases(package)
    required = [wanted.name for wanted in requirements_in(rows[-1].requires) if _is_always_there(wanted)] if rows else []
    further = (frameworks_of(matrix.releases(name)) for name in required if matrix.releases(name))
    return tuple(dict.fromkeys(chain(frameworks_of(rows) if rows else (), *further)))


def _is_always_there(wanted: Requirement) -> bool:
    """Return whether a package is of use only with what it requires here, whatever extras are asked for."""
    return not wanted.marker or BESIDE in _extras_of(wanted)


def reached(row: FrameworkRelease, extras: Iterable[str]) -> tuple[str, ...]:
    """Return extras and those that they include: sglang[all] requires sglang[srt]."""
    found = dict.fromkeys(extras)
    own = [wanted for wanted in requirements_in(row.requires) if wanted.name == row.distribution]
    while more := {extra: None for wanted in own if found.keys() & _extras_of(wanted) for extra in wanted.extras if extra not in found}:
        found |= more
    return tuple(found)


def _extras_of(wanted: Requirement) -> set[str]:
    return set(_EXTRA.findall(wanted.marker))


def _with_framework(asked: tuple[Requirement, ...], framework: str) -> tuple[str, ...]:
    """Return the extra that pins most, of those that require a framework; of equals the one that another extra includes."""
    included = {extra for wanted in asked for extra in wanted.extras if _extras_of(wanted)}
    extras = {extra for wanted in asked if wanted.name == framework for extra in _extras_of(wanted)}
    pins = {extra: sum(extra in _extras_of(wanted) and only_version(wanted.specifier) is not None for wanted in asked) for extra in extras}
    return tuple(sorted(extras, key=lambda extra: (extra not in included, -pins[extra], extra))[:1])


def _with_cuda(asked: tuple[Requirement, ...]) -> tuple[str, ...]:
    """Return the extras that install the CUDA runtime and cuDNN, if all are of one CUDA."""
    found = [wanted for wanted in asked if wanted.name.startswith(_LIBRARIES) and _extras_of(wanted)]
    return tuple(sorted({extra for wanted in found for extra in _extras_of(wanted)})) if len(set(_majors(found))) == 1 else ()


def _of_libraries(asked: tuple[Requirement, ...]) -> set[str]:
    return {wanted.name for wanted in asked if wanted.name.startswith(_LIBRARIES)}


def _majors(asked: Iterable[Requirement]) -> Iterator[str]:
    """Yield the CUDA of each package whose name or version states it."""
    for wanted in asked:
        named = re.search(r"-cu(\d\d)$", wanted.name) or (
            re.search(r"[=>]=?(\d\d)\b", wanted.specifier) if "cudnn" not in wanted.name else None
        )
        if named is not None:
            yield named[1]
