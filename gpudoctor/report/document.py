"""The JSON documents that gpudoctor writes, beside the snapshot: the report, the error in its stead, the pages of the rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any, Final, Literal

import msgspec

from gpudoctor.derive.gpu_support import GpuSupport
from gpudoctor.matrix import Source
from gpudoctor.report.build import TOOL
from gpudoctor.report.lazy_sequence import LazySequence
from gpudoctor.report.model import Code, DomainWord, Name, RungWord, SeverityWord, Tool
from gpudoctor.schema_fields import FORM, means
from gpudoctor.snapshot import NOT_ASKED, Framework, Libraries, Missing, ScriptFolder, printable_text
from gpudoctor.snapshot.xray import EnvironmentXray, File, FilesXray

_INVISIBLE_CHARACTERS = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Controls, and characters that change the direction of a text or cannot be seen; a terminal that shows the JSON would obey them."""

_PIECE_BYTES: Final = 1 << 16
_ITEMS_AT_ONCE: Final = 100
"""Items of a long list that are encoded together."""


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no report."""

    kind: Annotated[str, means("Open: newer versions may add words.", "usage", "output", "internal", "interrupted")]
    message: Annotated[str, means("One sentence for a person, with the next step.")]


class ErrorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What is written to standard output if --format json was given and there is no report."""

    schema: Annotated[Literal["gpudoctor.error/1"], FORM] = "gpudoctor.error/1"
    tool: Tool
    exit_code: Annotated[int, means("The exit code of the process.")]
    error: Trouble


class RulePage(msgspec.Struct, frozen=True, kw_only=True):
    """One rule and its documentation."""

    code: Code
    name: Name
    severity: SeverityWord
    breaks: Annotated[RungWord, means("The stage that cannot be reached while it is true.")]
    since: Annotated[str, means("The first version of gpudoctor that had it.", "0.1")]
    family: Annotated[str, means("The family it belongs to.", "driver", "multi-gpu")] = ""
    domain: DomainWord = ""
    title: Annotated[str, means("What is wrong, in a phrase.")]
    doc: Annotated[str, means("The page, in Markdown.")]
    url: Annotated[str, means("The page on the web.")]


class ExitCodePage(msgspec.Struct, frozen=True, kw_only=True):
    """An exit code, or several with one meaning."""

    codes: Annotated[tuple[int, ...], means("The codes.", [130, 143])]
    meaning: Annotated[str, means("What they mean.")]
    action: Annotated[str, means("What to do.")]


class RulesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that this gpudoctor knows, or those that explain a text."""

    schema: Annotated[Literal["gpudoctor.rules/1"], FORM] = "gpudoctor.rules/1"
    tool: Tool
    rules: Annotated[tuple[RulePage, ...], means("By code; if a text was searched for, the best match first.")]
    meaning: Annotated[tuple[str, ...], means("What the text that was searched for means, in sentences.")] = ()
    exit_codes: Annotated[tuple[ExitCodePage, ...], means("The exit codes that were asked for.")] = ()
    guide: Annotated[str, means("A page about the use of gpudoctor, in Markdown; empty if none was asked for.")] = ""


class TableSource(msgspec.Struct, frozen=True):
    """Where rows were read."""

    id: Annotated[str, means("By this name rows refer to it.", "cuda-notes-13.2")]
    title: Annotated[str, means("Its title.")]
    url: Annotated[str, means("Empty if the source is the file that its title names.")]
    read: Annotated[str, means("When it was read: ISO 8601 date.", "2026-11-20")]


class MatrixDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the compatibility tables."""

    schema: Annotated[Literal["gpudoctor.matrix/1"], FORM] = "gpudoctor.matrix/1"
    tool: Tool
    subject: Annotated[str, means("The table.", "gpu", "driver", "cuda", "cudnn", "framework")]
    rows: Annotated[
        tuple[dict[str, str | int | float | bool | list[str] | None], ...],
        means("Values by column. null: unknown; an empty list: none. Columns are only ever added."),
    ]
    sources: Annotated[tuple[TableSource, ...], means("Where the rows were read.")]
    support: Annotated[GpuSupport | None, means("For a single GPU: the drivers and wheels that support it.")] = None


class XrayDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The X-ray of an environment (frameworks and libraries) or of single files."""

    schema: Annotated[Literal["gpudoctor.xray/1"], FORM]
    python: Annotated[str, means("The interpreter.")]
    why: Annotated[str, means("Why this interpreter was chosen.")] = ""
    frameworks: Annotated[tuple[Framework, ...], means("The installed frameworks.")] = ()
    libraries: Annotated[Libraries | Missing, means("The CUDA libraries that they would load.")] = NOT_ASKED
    script_folder: Annotated[ScriptFolder | Missing, means("The folder of the training script.")] = NOT_ASKED
    files: Annotated[tuple[File, ...], means("The files that were named.")] = ()


def encode_xray(seen: EnvironmentXray | FilesXray) -> bytes:
    """`seen` as JSON, one document, ending with a newline."""
    if isinstance(seen, FilesXray):
        return encode_document(XrayDocument(schema=XRAY_SCHEMA, python=seen.python, files=seen.files))
    named = {name: getattr(seen, name) for name in ("python", "why", "frameworks", "libraries", "script_folder")}
    return encode_document(XrayDocument(schema=XRAY_SCHEMA, **named))


XRAY_SCHEMA: Final = "gpudoctor.xray/1"


def encode_error(kind: str, message: str, exit_code: int) -> bytes:
    """The error document."""
    return encode_document(ErrorDocument(tool=TOOL, exit_code=exit_code, error=Trouble(kind, printable_text(message))))


def encode_matrix(
    subject: str,
    rows: tuple[dict[str, str | int | float | bool | list[str] | None], ...],
    sources: Iterable[Source],
    support: GpuSupport | None = None,
) -> bytes:
    """Return rows of the compatibility tables, their sources, and what supports a GPU."""
    read = tuple(TableSource(source.id, source.title, source.url, source.read) for source in sources)
    return encode_document(MatrixDocument(tool=TOOL, subject=subject, rows=rows, sources=read, support=support))


def encode_document(document: msgspec.Struct | dict[str, Any], indent: int = 2) -> bytes:
    """Any document as JSON; without any white space if `indent` is negative."""
    return _json_text(document, indent) + b"\n"


def encoded_pieces(document: msgspec.Struct) -> Iterator[bytes]:
    """Yield what `encode_document` returns, in pieces: the text of 100,000 nodes takes more memory than they do."""
    held = bytearray()
    for piece in _value_pieces(document, b"\n"):
        held += piece
        if len(held) > _PIECE_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held + b"\n")


def _value_pieces(value: Any, margin: bytes) -> Iterator[bytes]:
    """Yield the text of a value; `margin` is the line break and the spaces before what is in it."""
    inner = margin + b"  "
    if isinstance(value, LazySequence):
        separator, items = b"[", iter(value)
        while some := list(islice(items, _ITEMS_AT_ONCE)):
            yield separator + _json_text(some, 2)[1:-2].replace(b"\n", margin)
            separator = b","
        yield margin + b"]" if value else b"[]"
    elif isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        separator = b"["
        for item in value:
            yield separator + inner
            yield from _value_pieces(item, inner)
            separator = b","
        yield margin + b"]"
    elif isinstance(value, msgspec.Struct):
        separator = b"{"
        for name in value.__struct_fields__:
            yield separator + inner + f'"{name}": '.encode()
            yield from _value_pieces(getattr(value, name), inner)
            separator = b","
        yield margin + b"}"
    else:
        yield _json_text(value, 2).replace(b"\n", margin)


def _json_text(value: Any, indent: int) -> bytes:
    text = msgspec.json.format(msgspec.json.encode(value, enc_hook=tuple), indent=indent)  # a Streamed
    if text.isascii() and b"\x7f" not in text:
        return text
    return _INVISIBLE_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text.decode()).encode()
