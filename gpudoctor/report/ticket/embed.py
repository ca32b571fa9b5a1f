"""The JSON report inside a ticket, as text in which no format finds markup."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from gpudoctor.packed import pack
from gpudoctor.report.model import Report

_MARKUP = re.compile("[<>&`|\x7f]")


def plain(report: Report) -> str:
    """Return `report` as JSON, a line for each of its fields."""
    fields = msgspec.to_builtins(report)
    return "{" + ",\n".join(f"{_inert(name)}: {_inert(value)}" for name, value in fields.items()) + "}"


def packed(report: Report) -> str:
    """Return what a diagnosis needs of `report`, compressed."""
    return pack(msgspec.json.encode({"schema": report.schema, "policy": report.policy, "snapshot": report.snapshot}))


def _inert(value: Any) -> str:
    """Return JSON in ASCII, with every letter that HTML or Markdown could take for markup as an escape."""
    return _MARKUP.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(value, separators=(",", ":")))
