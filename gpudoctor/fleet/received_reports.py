"""Reads the report that a node sent. It is foreign: its form is checked, its size bounded, and nothing in it names a file to read."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings.summary import Summary
from gpudoctor.report.model import Finding, Tool
from gpudoctor.report_files.read_budget import MAX_DOCUMENT_BYTES
from gpudoctor.snapshot import Host, Snapshot, decode_snapshot
from gpudoctor.typed_values import json_decoder, require_bounded

_MAX_HOST_NAME: Final = 253
"""Characters of a host name in DNS."""


class NoReportError(Exception):
    """What a node sent is not a report; `kind` is a word of `report.fleet.Unread`."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class NodeReport(msgspec.Struct, frozen=True):
    """The parts of a report that a fleet is diagnosed from."""

    tool: Tool
    created: str
    verdict: str
    exit_code: int
    findings: tuple[Finding, ...]
    summary: Summary
    snapshot: Snapshot

    @property
    def host(self) -> str:
        """The machine's name; empty unless the report was written with --identify."""
        host = self.snapshot.host
        name = host.hostname if isinstance(host, Host) else ""
        return name if isinstance(name, str) and len(name) <= _MAX_HOST_NAME and not name.startswith("<") else ""


class _Document(msgspec.Struct):
    schema: str
    tool: Tool
    error: msgspec.Raw = msgspec.Raw()
    created: Annotated[str, msgspec.Meta(max_length=64)] = ""
    verdict: str = ""
    exit_code: int = 0
    findings: tuple[Finding, ...] = ()
    summary: Summary = Summary()
    snapshot: msgspec.Raw = msgspec.Raw()


class _Trouble(msgspec.Struct):
    message: str


_document_decoder = json_decoder(_Document)
_trouble_decoder = json_decoder(_Trouble)


def parse_report(data: bytes) -> NodeReport:
    """Return the report in `data`. Raises NoReportError."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise NoReportError("too-large", f"it has more than {MAX_DOCUMENT_BYTES >> 20} MiB")
    try:
        return _decoded_report(data)
    except msgspec.ValidationError as error:
        raise NoReportError("broken", f"it is no gpudoctor report: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NoReportError("broken", _syntax_problem(str(error)) if data.strip() else "it is empty") from None
    except (UsageError, ValueError, OverflowError) as error:
        raise NoReportError("broken", str(error).rstrip(".")) from None
    except RecursionError:
        raise NoReportError("broken", "it is nested too deeply") from None


def _syntax_problem(error: str) -> str:
    """Return why a text is no JSON."""
    return "it is cut off" if "truncated" in error else f"it is not JSON: {error.removeprefix('JSON is malformed: ')}"


def _decoded_report(data: bytes) -> NodeReport:
    if data.lstrip().startswith(b"["):
        raise NoReportError("broken", "it is a JSON list; write one report a line, as `jq -c '.[]'` does")
    made = _document_decoder.decode(data)
    if made.schema == "gpudoctor.error/1":
        raise NoReportError("no-report", f"the check failed: {_trouble_decoder.decode(made.error).message.rstrip('.')}")
    if made.schema != "gpudoctor.report/1" and made.schema.startswith("gpudoctor.report/"):
        raise NoReportError("broken", f"it is a {made.schema[:80]} document; merge it with a newer gpudoctor")
    if made.schema != "gpudoctor.report/1":
        raise NoReportError("not-a-report", f"it is a {made.schema[:80]} document, not gpudoctor.report/1")
    if not made.verdict or not made.snapshot:
        raise NoReportError("broken", "it is a report without a verdict or a snapshot")
    code, summary = require_bounded((made.exit_code, made.summary))
    return NodeReport(made.tool, made.created, made.verdict, code, made.findings, summary, decode_snapshot(bytes(made.snapshot)))
