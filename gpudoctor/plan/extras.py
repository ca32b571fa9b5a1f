"""The extras with which a release installs what it cannot compute without: a framework, or CUDA's libraries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from gpudoctor.derive.cuda_libraries import WHEEL_NAMES
from gpudoctor.derive.specifiers import BESIDE_EXTRA, Requirement, only_version, parse_requirements
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.matrix import FrameworkRelease, Matrix

_EXTRA_MARKER = re.compile(r'extra=="([^"]+)"')
_CUDA_LIBRARIES = (WHEEL_NAMES["cudart"], WHEEL_NAMES["cudnn"], "cuda-toolkit")


def needed_extras(row: FrameworkRelease, frameworks: Iterable[str], *, gpu: bool) -> tuple[str, ...]:
    """Return the extras to ask for: those that install CUDA on a machine with a GPU, or the one that installs the frameworks.

    `frameworks` are those that the package cannot do without.
    """
    asked = tuple(parse_requirements(row.requires))
    always = {wanted.name for wanted in asked if _is_unconditional(wanted)}
    lacking = [name for name in frameworks if name not in always]
    if lacking:
        return _framework_extra(asked, lacking[0])
    return _cuda_extras(asked) if gpu and row.accelerator == "cuda" and always.isdisjoint(_library_names(asked)) else ()


def required_frameworks(rows: Sequence[FrameworkRelease]) -> tuple[str, ...]:
    """Return the frameworks that the newest release of a package requires without an extra."""
    required = {wanted.name for wanted in parse_requirements(rows[-1].requires) if _is_unconditional(wanted)}
    return tuple(spec.name for spec in CATALOGUE if spec.name in required)


def indirect_frameworks(package: str, matrix: Matrix) -> tuple[str, ...]:
    """Return the frameworks that the newest release of a package requires, or that a package which it requires does; none if no table lists it."""
    rows = matrix.releases(package)
    required = [wanted.name for wanted in parse_requirements(rows[-1].requires) if _is_unconditional(wanted)] if rows else []
    further = (required_frameworks(matrix.releases(name)) for name in required if matrix.releases(name))
    return tuple(dict.fromkeys(chain(required_frameworks(rows) if rows else (), *further)))


def _is_unconditional(wanted: Requirement) -> bool:
    """Return whether a package is of use only with what it requires here, whatever extras are asked for."""
    return not wanted.marker or BESIDE_EXTRA in _extras_in_marker(wanted)


def with_included_extras(row: FrameworkRelease, extras: Iterable[str]) -> tuple[str, ...]:
    """Return extras and those that they include: sglang[all] requires sglang[srt]."""
    found = dict.fromkeys(extras)
    own = [wanted for wanted in parse_requirements(row.requires) if wanted.name == row.distribution]
    while more := {
        extra: None for wanted in own if found.keys() & _extras_in_marker(wanted) for extra in wanted.extras if extra not in found
    }:
        found |= more
    return tuple(found)


def _extras_in_marker(wanted: Requirement) -> set[str]:
    return set(_EXTRA_MARKER.findall(wanted.marker))


def _framework_extra(asked: tuple[Requirement, ...], framework: str) -> tuple[str, ...]:
    """Return the extra that pins most, of those that require a framework; of equals the one that another extra includes."""
    included = {extra for wanted in asked for extra in wanted.extras if _extras_in_marker(wanted)}
    extras = {extra for wanted in asked if wanted.name == framework for extra in _extras_in_marker(wanted)}
    pins = {
        extra: sum(extra in _extras_in_marker(wanted) and only_version(wanted.specifier) is not None for wanted in asked)
        for extra in extras
    }
    return tuple(sorted(extras, key=lambda extra: (extra not in included, -pins[extra], extra))[:1])


def _cuda_extras(asked: tuple[Requirement, ...]) -> tuple[str, ...]:
    """Return the extras that install the CUDA runtime and cuDNN, if all are of one CUDA."""
    found = [wanted for wanted in asked if wanted.name.startswith(_CUDA_LIBRARIES) and _extras_in_marker(wanted)]
    return tuple(sorted({extra for wanted in found for extra in _extras_in_marker(wanted)})) if len(set(_cuda_majors(found))) == 1 else ()


def _library_names(asked: tuple[Requirement, ...]) -> set[str]:
    return {wanted.name for wanted in asked if wanted.name.startswith(_CUDA_LIBRARIES)}


def _cuda_majors(asked: Iterable[Requirement]) -> Iterator[str]:
    """Yield the CUDA of each package whose name or version states it."""
    for wanted in asked:
        named = re.search(r"-cu(\d\d)$", wanted.name) or (
            re.search(r"[=>]=?(\d\d)\b", wanted.specifier) if "cudnn" not in wanted.name else None
        )
        if named is not None:
            yield named[1]
