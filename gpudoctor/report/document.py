"""The JSON documents that gpudoctor writes, beside the snapshot: the report, the error in its stead, the pages of the rules."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpudoctor.report.build import TOOL
from gpudoctor.report.model import Report, Tool
from gpudoctor.snapshot import readable


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
    title: str
    doc: Annotated[str, msgspec.Meta(description="Markdown.")]
    url: str


class RulesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The rules that this gpudoctor knows."""

    schema: Literal["gpudoctor.rules/1"] = "gpudoctor.rules/1"
    tool: Tool
    rules: tuple[RulePage, ...]


def report(made: Report) -> bytes:
    """`made` as JSON, one document, ending with a newline."""
    return encode(made)


def error(kind: str, message: str, exit_code: int) -> bytes:
    """The error document."""
    return encode(ErrorDocument(tool=TOOL, exit_code=exit_code, error=Trouble(kind, readable(message))))


def rules(pages: tuple[RulePage, ...]) -> bytes:
    """The rules' pages."""
    return encode(RulesDocument(tool=TOOL, rules=pages))


def encode(document: msgspec.Struct) -> bytes:
    """Any document as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
