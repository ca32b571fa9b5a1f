"""`gpudoctor matrix`: shows rows of the compatibility tables, with their sources."""

from __future__ import annotations

from gpudoctor.cli import options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.program import app
from gpudoctor.cli.screen import look_of_output
from gpudoctor.errors import UsageError
from gpudoctor.manual import facts
from gpudoctor.manual.facts import FoundRows
from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix
from gpudoctor.report import document, tables


@app.command()
def matrix(
    subject: options.MatrixSubject,
    name: options.MatrixName = None,
    version: options.MatrixVersion = None,
    format: options.RowFormat = TextOrJson.TEXT,
    compat: options.Compat = None,
) -> int:
    """Look up a GPU, a driver, a CUDA or cuDNN release or a framework in the compatibility tables, with sources.

    Without NAME, list what the tables know.
    """
    known = open_matrix(compat)
    facts.require_subject(known, subject, *(word for word in (name, version) if word))
    if version is not None and subject != "framework":
        raise UsageError(f"Only a framework takes a version, as in `gpudoctor matrix framework torch 2.5.1`; leave out {version!r}.")
    as_json = format is TextOrJson.JSON
    if name is None:
        output.write_output(_listing_bytes(known, subject, as_json=as_json))
    else:
        output.write_output(_rows_bytes(known, subject, facts.find_rows(known, subject, name, version), as_json=as_json))
    return 0


def _listing_bytes(matrix: Matrix, subject: str, *, as_json: bool) -> bytes:
    """Return everything that the tables know of a subject, in short."""
    if subject != "framework":
        found = facts.all_rows(matrix, subject)
        return (
            _rows_bytes(matrix, subject, found, as_json=True)
            if as_json
            else _encoded_text(tables.listing_text(subject, found.rows, look_of_output(no_color=False)))
        )
    packages = facts.known_packages(matrix)
    if as_json:
        return document.encode_matrix(
            subject, tuple({"distribution": name, "oldest": old, "newest": new} for name, old, new in packages), ()
        )
    return _encoded_text(tables.packages_text(packages, look_of_output(no_color=False)))


def _rows_bytes(matrix: Matrix, subject: str, found: FoundRows, *, as_json: bool) -> bytes:
    sources = [source for identifier in found.sources if (source := matrix.source(identifier)) is not None]
    if not as_json:
        return _encoded_text(
            tables.render(subject, found.table, found.rows, sources, look_of_output(no_color=False), support=found.support)
        )
    rows = tuple({column: tables.plain_cell(getattr(row, column)) for column in found.table.columns} for row in found.rows)
    return document.encode_matrix(subject, rows, sources, found.support)


def _encoded_text(text: str) -> bytes:
    return look_of_output(no_color=False).encoded_text(text)
