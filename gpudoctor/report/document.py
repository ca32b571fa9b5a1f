"""The JSON documents that gpudoctor writes, beside the snapshot: the report, the error in its stead, the pages of the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

import msgspec

from gpudoctor.derive.gpu_support import GpuSupport
from gpudoctor.exit_codes import ExitCode
from gpudoctor.matrix import Source
from gpudoctor.report.build import TOOL
from gpudoctor.report.model import Report, Tool
from gpudoctor.snapshot import NOT_ASKED, Framework, Libraries, Missing, ScriptFolder, readable
from gpudoctor.snapshot.xray import Environment, File, Files


class Trouble(msgspec.Struct, frozen=True):
    """Why there is no report."""

    kind: Annotated[str, msgspec.Meta(description="Open.", examples=["usage", "output", "internal", "interrupted"])]
    message: Annotated[str, msgspec.Meta(description="One sentence for a person, with the next step.")]


class ErrorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What stands on standard output where a report was asked for and there is none."""

    schema: Literal["gpudoctor.error/1"] = "gpudoctor.error/1"
    tool: Tool
    exit_code: int
    error: Trouble


class RulePage(msgspec.Struct, frozen=True, kw_only=True):
    """One rule and its documentation."""

    code: str
    name: str
    severity: Annotated[str, msgspec.Meta(examples=["error", "warning", "note"])]
    breaks: Annotated[str, msgspec.Meta(description="The rung that cannot be reached while it is true.")]
    since: Annotated[str, msgspec.Meta(description="The version of gpudoctor that had it first.")]
    family: Annotated[str, msgspec.Meta(examples=["driver", "multi-gpu"])] = ""
    title: str
    doc: Annotated[str, msgspec.Meta(description="Markdown.")]
    url: str


class ExitCodePage(msgspec.Struct, frozen=True, kw_only=True):
    """An exit code, or several with one meaning."""

    codes: tuple[int, ...]
    meaning: str
    action: Annotated[str, msgspec.Meta(description="What to do.")]


class RulesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that this gpudoctor knows, or those that explain a text."""

    schema: Literal["gpudoctor.rules/1"] = "gpudoctor.rules/1"
    tool: Tool
    rules: tuple[RulePage, ...]
    meaning: Annotated[tuple[str, ...], msgspec.Meta(description="What the text that was searched for means, in sentences.")] = ()
    exit_codes: tuple[ExitCodePage, ...] = ()


class TableSource(msgspec.Struct, frozen=True):
    """Where rows were read."""

    id: str
    title: str
    url: Annotated[str, msgspec.Meta(description="Empty where the source is a file that its title names.")]
    read: Annotated[str, msgspec.Meta(description="ISO date of reading.")]


class MatrixDocument(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the compatibility tables."""

    schema: Literal["gpudoctor.matrix/1"] = "gpudoctor.matrix/1"
    tool: Tool
    subject: Annotated[str, msgspec.Meta(examples=["gpu", "driver", "cuda", "cudnn", "framework"])]
    rows: Annotated[
        tuple[dict[str, str | int | float | bool | list[str] | None], ...],
        msgspec.Meta(description="By the columns of the table; null is unknown, an empty list is none. Columns are only ever added."),
    ]
    sources: tuple[TableSource, ...]
    support: Annotated[GpuSupport | None, msgspec.Meta(description="Of a single GPU: the drivers and wheels that support it.")] = None


class XrayDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The X-ray of an environment (frameworks and libraries) or of single files."""

    schema: Literal["gpudoctor.xray/1"]
    python: str
    why: str = ""
    frameworks: tuple[Framework, ...] = ()
    libraries: Libraries | Missing = NOT_ASKED
    script_folder: ScriptFolder | Missing = NOT_ASKED
    files: tuple[File, ...] = ()


def xray(seen: Environment | Files) -> bytes:
    """`seen` as JSON, one document, ending with a newline."""
    if isinstance(seen, Files):
        return encode(XrayDocument(schema=XRAY, python=seen.python, files=seen.files))
    named = {name: getattr(seen, name) for name in ("python", "why", "frameworks", "libraries", "script_folder")}
    return encode(XrayDocument(schema=XRAY, **named))


XRAY: Final = "gpudoctor.xray/1"


def report(made: Report) -> bytes:
    """`made` as JSON, one document, ending with a newline."""
    return encode(made)


def error(kind: str, message: str, exit_code: int) -> bytes:
    """The error document."""
    return encode(ErrorDocument(tool=TOOL, exit_code=exit_code, error=Trouble(kind, readable(message))))


def rules(pages: tuple[RulePage, ...], meaning: tuple[str, ...] = (), exit_codes: tuple[ExitCode, ...] = ()) -> bytes:
    """Return the pages of rules and exit codes, and what a text means."""
    codes = tuple(ExitCodePage(codes=one.codes, meaning=one.meaning, action=one.action) for one in exit_codes)
    return encode(RulesDocument(tool=TOOL, rules=pages, meaning=meaning, exit_codes=codes))


def matrix(
    subject: str,
    rows: tuple[dict[str, str | int | float | bool | list[str] | None], ...],
    sources: Iterable[Source],
    support: GpuSupport | None = None,
) -> bytes:
    """Return rows of the compatibility tables, their sources, and what supports a GPU."""
    read = tuple(TableSource(one.id, one.title, one.url, one.read) for one in sources)
    return encode(MatrixDocument(tool=TOOL, subject=subject, rows=rows, sources=read, support=support))


def encode(document: msgspec.Struct | dict[str, Any]) -> bytes:
    """Any document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
