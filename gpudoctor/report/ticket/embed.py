"""The JSON report inside a ticket, as text in which no format finds markup."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from gpudoctor.packed_text import pack_document
from gpudoctor.report.model import Report

_MARKUP_SIGNS = re.compile("[<>&`|\x7f]")


def plain_json(report: Report) -> str:
    """Return `report` as JSON, a line for each of its fields."""
    fields = msgspec.to_builtins(report)
    return "{" + ",\n".join(f"{_inert_json(name)}: {_inert_json(value)}" for name, value in fields.items()) + "}"


def packed_report(report: Report) -> str:
    """Return what a diagnosis needs of `report`, compressed."""
    return pack_document(msgspec.json.encode({"schema": report.schema, "policy": report.policy, "snapshot": report.snapshot}))


def _inert_json(value: Any) -> str:
    """Return JSON in ASCII, with every letter that HTML or Markdown could take for markup as an escape."""
    return _MARKUP_SIGNS.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(value, separators=(",", ":")))
