"""Finds the rows of the compatibility tables that a person asks for."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gpudoctor import versions
from gpudoctor.derive.cards import product_suitability
from gpudoctor.derive.gpu_support import GpuSupport, support_for_product
from gpudoctor.errors import UsageError
from gpudoctor.frameworks import MISTAKEN
from gpudoctor.matrix import FrameworkRelease, MatchKind, Matrix, gpu_names
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import CUDA, CUDNN, DRIVERS, GPUS, OTHER_RELEASES, WHEEL_TABLES
from gpudoctor.suggestions import alternatives_text, nearest_names, suggestion
from gpudoctor.versions import Version

TABLES: Mapping[str, Table[Any]] = {"gpu": GPUS, "driver": DRIVERS, "cuda": CUDA, "cudnn": CUDNN, "framework": OTHER_RELEASES}
"""The table of each subject; the releases of frameworks are in WHEELS."""
_MAX_NAMES = 6
"""How many names an error offers."""


class FoundRows(msgspec.Struct, frozen=True):
    """Rows of one table, and for a single GPU what supports it."""

    table: Table[Any]
    rows: tuple[Any, ...]
    support: GpuSupport | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the sources of the rows and of the support, each once."""
        every = [identifier for row in self.rows for identifier in row.source]
        return tuple(dict.fromkeys([*every, *(self.support.source if self.support else ())]))


def all_rows(matrix: Matrix, subject: str) -> FoundRows:
    """Return all rows of a subject other than framework."""
    return FoundRows(TABLES[subject], tuple(matrix.rows(TABLES[subject])))


def known_packages(matrix: Matrix) -> tuple[tuple[str, str, str], ...]:
    """Return the packages that the tables know: name, oldest and newest release."""
    releases: dict[str, list[FrameworkRelease]] = {}
    for table in WHEEL_TABLES:
        for row in matrix.rows(table):
            releases.setdefault(row.distribution, []).append(row)
    return tuple((name, str(rows[0].release), str(rows[-1].release)) for name, rows in releases.items())


def names_of(matrix: Matrix, subject: str) -> tuple[str, ...]:
    """Return the names that can be looked up of a subject, as words that a shell need not quote."""
    if subject == "framework":
        return tuple(name for name, _, _ in known_packages(matrix))
    keys = (str(getattr(row, next(iter(TABLES[subject].columns)))) for row in matrix.rows(TABLES[subject]))
    return tuple(dict.fromkeys(key.casefold().removeprefix("nvidia ").replace(" ", "-") for key in keys))


def require_subject(matrix: Matrix, subject: str, *words: str) -> None:
    """Raise UsageError, with the command that was probably meant with these words, for an unknown subject."""
    if subject in TABLES:
        return
    near, asked = nearest_names(subject, TABLES), " ".join((subject.replace("==", " "), *words))
    meant = ""
    if subject.partition("==")[0].casefold() in [name for name, _, _ in known_packages(matrix)]:
        meant = f"framework {asked}"
    elif not near and matrix.gpu(asked):
        meant = f"gpu {shlex.quote(asked)}"
    hint = f"did you mean `gpudoctor matrix {meant}`?" if meant else suggestion(subject, near, f"it is one of {', '.join(TABLES)}.")
    raise UsageError(f"The tables have no subject {subject!r}; {hint}")


def find_rows(matrix: Matrix, subject: str, name: str, version: str | None = None) -> FoundRows:
    """Return what the tables know of a subject by this name. Raises UsageError, with near names, if they know nothing."""
    of_subject = {"gpu": _gpu_rows, "driver": _driver_rows, "cuda": _cuda_rows, "cudnn": _cudnn_rows}.get(subject)
    return of_subject(matrix, name) if of_subject else _framework_rows(matrix, name, version)


def _gpu_rows(matrix: Matrix, name: str) -> FoundRows:
    product = matrix.gpu(name)
    if product is not None:
        return FoundRows(GPUS, (product,), support_for_product(product, matrix, product_suitability(product)))
    if vendor := gpu_names.other_vendor(name):
        raise UsageError(f"{name!r} is a GPU of {vendor}; the tables have only NVIDIA's.")
    raise _unknown_name_error(f"no GPU {name!r}", matrix.similar_gpu_names(name), "`gpudoctor matrix gpu` lists them.")


def _driver_rows(matrix: Matrix, name: str) -> FoundRows:
    version = versions.parse_version(name)
    branch = matrix.driver(version) if version else None
    if branch is None:
        branches = [str(row.branch) for row in matrix.rows(DRIVERS)]
        raise _unknown_name_error(f"no driver {name!r}", (), _known_range("branches", branches))
    return FoundRows(DRIVERS, (branch,))


def _cuda_rows(matrix: Matrix, name: str) -> FoundRows:
    version, rows = versions.parse_version(name), matrix.rows(CUDA)
    found = _rows_beginning_with(rows, version) or tuple(
        row for row in rows if any(component.endswith(f"=={name}") for component in row.components)
    )
    if not found:
        near = [str(row.release) for row in rows if version and row.release[:2] == version[:2]]
        raise _unknown_name_error(f"no CUDA {name!r}", near, _known_range("releases", [row.release.short for row in rows]))
    return FoundRows(CUDA, found)


def _cudnn_rows(matrix: Matrix, name: str) -> FoundRows:
    rows = _rows_beginning_with(matrix.rows(CUDNN), versions.parse_version(name))
    if not rows:
        raise _unknown_name_error(f"no cuDNN {name!r}", (), _known_range("releases", [row.release.short for row in matrix.rows(CUDNN)]))
    return FoundRows(CUDNN, rows)


def _framework_rows(matrix: Matrix, name: str, version: str | None) -> FoundRows:
    written, _, pinned = name.partition("==")
    wanted, version = written.casefold().replace("_", "-"), version or pinned or None
    found = ((table, tuple(row for row in matrix.rows(table) if row.distribution == wanted)) for table in WHEEL_TABLES)
    table, rows = next(((table, rows) for table, rows in found if rows), (OTHER_RELEASES, ()))
    if not rows:
        near = nearest_names(MISTAKEN.get(wanted, wanted), [name for name, _, _ in known_packages(matrix)])
        raise _unknown_name_error(f"no package {name!r}", near, "`gpudoctor matrix framework` lists the packages.")
    if version is None:
        return FoundRows(table, rows)
    shown = _release_rows(matrix, rows, version)
    if not shown:
        raise _unknown_name_error(f"no {wanted} {version}", (), _known_range("releases", [str(row.release) for row in rows]))
    return FoundRows(table, shown)


def _release_rows(matrix: Matrix, rows: tuple[FrameworkRelease, ...], version: str) -> tuple[FrameworkRelease, ...]:
    """Return the rows of this release or, for a local version ("2.9.0+cu130"), of that build; of a shorter version all that begin so."""
    public, _, local = version.partition("+")
    exact = tuple(row for row in rows if str(row.release) == public)
    if not local:
        return exact or (
            () if final_release(public) is None or "post" in public else _rows_beginning_with(rows, versions.parse_version(public))
        )
    found = (matrix.resolve(row.distribution, version, row.platform) for row in exact)
    builds = (
        matched.row
        for matched in found
        if matched.row is not None and matched.how is MatchKind.EXACT and (matched.row.sass or local in matched.row.builds)
    )
    return tuple(msgspec.structs.replace(row, release=row.release._replace(text=version)) for row in builds)


def _rows_beginning_with(rows: Iterable[Any], version: Version | None) -> tuple[Any, ...]:
    """Return the rows whose release begins with the parts that were written: 12 means all of 12."""
    if version is None:
        return ()
    said = min(version.text.count(".") + 1, 4)
    return tuple(row for row in rows if row.release[:said] == version[:said])


def _unknown_name_error(what: str, near: Iterable[str], otherwise: str) -> UsageError:
    """Return the error for a name that the tables lack: near names, or `otherwise`."""
    offered = alternatives_text(list(near)[:_MAX_NAMES])
    return UsageError(f"The tables have {what}; {f'did you mean {offered}?' if offered else otherwise}")


def _known_range(what: str, known: Sequence[str]) -> str:
    return f"the {what} go from {known[0]} to {known[-1]}."
