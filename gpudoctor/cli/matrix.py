"""`gpudoctor matrix`: shows rows of the compatibility tables, with their sources."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import msgspec

from gpudoctor import versions
from gpudoctor.cli import options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look
from gpudoctor.cli.program import app
from gpudoctor.errors import UsageError
from gpudoctor.matrix import FrameworkRelease, Matrix, Resolved, names
from gpudoctor.matrix.resolve import final_release
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import CUDA, CUDNN, DRIVERS, GPUS, OTHERS, WHEELS
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import document, tables
from gpudoctor.versions import Version

_MOST = 6
"""How many names an error offers."""


class Found(msgspec.Struct, frozen=True):
    """Rows of one table."""

    table: Table[Any]
    rows: tuple[Any, ...]


@app.command(short_help="Look up a GPU, driver, CUDA, cuDNN or framework release.")
def matrix(
    subject: options.MatrixSubject,
    name: options.MatrixName,
    version: options.MatrixVersion = None,
    format: options.RowFormat = TextOrJson.TEXT,  # noqa: A002 -- named as the option
    compat: options.Compat = None,
) -> int:
    """Look up a GPU, a driver, a CUDA or cuDNN release or a framework in the compatibility tables, with sources."""
    return _carry_out(subject, name, version, compat, as_json=format is TextOrJson.JSON)


def _carry_out(subject: str, name: str, version: str | None, compat: str | None, *, as_json: bool) -> int:
    matrix = open_matrix(compat)
    if version is not None and subject != "framework":
        raise UsageError(f"A version goes with a framework, as in `gpudoctor matrix framework torch 2.5.1`; leave {version!r} out.")
    found = _framework(matrix, name, version) if subject == "framework" else _LOOK_UPS[subject](matrix, name)
    identifiers = dict.fromkeys(identifier for row in found.rows for identifier in row.source)
    sources = tuple(source for identifier in identifiers if (source := matrix.source(identifier)) is not None)
    if as_json:
        rows = tuple({column: tables.plain(getattr(row, column)) for column in found.table.columns} for row in found.rows)
        output.write(document.matrix(subject, rows, sources))
        return 0
    seen = look(no_color=False)
    text = tables.render(subject, found.table, found.rows, sources, seen)
    output.write(text.encode("ascii" if seen.plain else "utf-8", "backslashreplace"))
    return 0


def _gpu(matrix: Matrix, name: str) -> Found:
    product = matrix.gpu(name)
    if product is None and (vendor := names.other_vendor(name)):
        raise UsageError(f"{name!r} is a GPU of {vendor}; the tables hold NVIDIA's alone.")
    if product is None:
        _unknown(f"no GPU called {name!r}", matrix.gpus_like(name), "those that nvidia-smi prints")
    return Found(GPUS, (product,))


def _driver(matrix: Matrix, name: str) -> Found:
    version = versions.parse(name)
    branch = matrix.driver(version) if version else None
    if branch is None:
        _unknown(f"no driver {name!r}", [str(row.branch) for row in matrix.rows(DRIVERS)][::-1], "")
    return Found(DRIVERS, (branch,))


def _cuda(matrix: Matrix, name: str) -> Found:
    version = versions.parse(name)
    named = f"=={name}"
    rows = _beginning(matrix.rows(CUDA), version) or tuple(
        row for row in matrix.rows(CUDA) if any(one.endswith(named) for one in row.components)
    )
    if not rows:
        near = [str(row.release) for row in matrix.rows(CUDA) if version and row.release[:2] == version[:2]]
        _unknown(f"no CUDA {name!r}", near or dict.fromkeys(row.release.short for row in reversed(matrix.rows(CUDA))), "")
    return Found(CUDA, rows)


def _cudnn(matrix: Matrix, name: str) -> Found:
    rows = _beginning(matrix.rows(CUDNN), versions.parse(name))
    if not rows:
        _unknown(f"no cuDNN {name!r}", dict.fromkeys(row.release.short for row in reversed(matrix.rows(CUDNN))), "")
    return Found(CUDNN, rows)


def _framework(matrix: Matrix, name: str, version: str | None) -> Found:
    wanted = name.casefold().replace("_", "-")
    table, rows = next(
        ((table, rows) for table in WHEELS if (rows := tuple(row for row in matrix.rows(table) if row.distribution == wanted))),
        (OTHERS, ()),
    )
    if not rows:
        known = dict.fromkeys(row.distribution for table in WHEELS for row in matrix.rows(table))
        _unknown(f"no framework called {name!r}", difflib.get_close_matches(wanted, known, 3, 0.4) or known, "")
    if version is None:
        return Found(table, rows)
    shown = _release(matrix, rows, version)
    if not shown:
        _unknown(f"no {wanted} {version}", dict.fromkeys(str(row.release) for row in reversed(rows)), "")
    return Found(table, shown)


def _release(matrix: Matrix, rows: tuple[FrameworkRelease, ...], version: str) -> tuple[FrameworkRelease, ...]:
    """The rows of just this release, or of this build of it ("2.9.0+cu130") where a table describes it; of a shorter version all that begin so."""
    public, _, local = version.partition("+")
    exact = tuple(row for row in rows if str(row.release) == public)
    if not local:
        return exact or (() if final_release(public) is None or "post" in public else _beginning(rows, versions.parse(public)))
    found = (matrix.resolve(row.distribution, version, row.platform) for row in exact)
    builds = (one.row for one in found if one.row is not None and one.how is Resolved.EXACT and (one.row.sass or local in one.row.builds))
    return tuple(msgspec.structs.replace(row, release=row.release._replace(text=version)) for row in builds)


def _beginning(rows: Iterable[Any], version: Version | None) -> tuple[Any, ...]:
    """The rows whose release begins with the parts that were written: 12 means all of 12."""
    if version is None:
        return ()
    said = min(version.text.count(".") + 1, 4)
    return tuple(row for row in rows if row.release[:said] == version[:said])


def _unknown(what: str, near: Iterable[str], otherwise: str) -> NoReturn:
    near = list(near)
    offered = f"there are {', '.join(near[:_MOST])}{' and more' if len(near) > _MOST else ''}" if near else f"known names are {otherwise}"
    raise UsageError(f"The tables know {what}; {offered}.")


_LOOK_UPS: dict[str, Callable[[Matrix, str], Found]] = {"gpu": _gpu, "driver": _driver, "cuda": _cuda, "cudnn": _cudnn}
