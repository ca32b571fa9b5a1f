"""Finds a gpudoctor report or snapshot in a text: JSON of any version, alone or in Markdown, HTML or a quotation, or a ticket's compressed one."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.expressions import expression
from gpudoctor.findings import Policy
from gpudoctor.packed_text import unpack_document
from gpudoctor.read.lines import decoded_text, plain_lines
from gpudoctor.snapshot import Snapshot, decode_snapshot
from gpudoctor.typed_values import convert_value

_REPORT_BEGINNING = expression(r'\{\s{0,20}"schema"\s{0,20}:\s{0,20}"gpudoctor\.report/1"')
_SNAPSHOT_BEGINNING = expression(r'\{\s{0,20}"version"\s{0,20}:\s{0,20}"\d{1,4}\.\d{1,4}"\s{0,20},\s{0,20}"created"')
_QUOTED_BEGINNING = expression(
    r'\{[^"{}]{0,200}"(?:schema"[^"{}]{0,40}"gpudoctor\.report/1|version"[^"{}]{0,40}"\d{1,4}\.\d{1,4}"[^"{}]{0,80}"created)"'
)
_SECTION_KEY = expression(rf'"({"|".join(Snapshot.__struct_fields__)})"\s{{0,4}}:')


def own_report(data: bytes) -> tuple[Snapshot, Policy] | None:
    """Return the snapshot of the first report in `data` and what was asked of it; None if there is no report.

    Raises UsageError if a report begins and cannot be read.
    """
    text = decoded_text(data)
    if not (_REPORT_BEGINNING.search(text) or _SNAPSHOT_BEGINNING.search(text)) and _QUOTED_BEGINNING.search(text):
        text = "\n".join(plain_lines(data))
    try:
        document = _report_document(text)
        if document is None:
            return None
        if "snapshot" not in document:
            return decode_snapshot(msgspec.json.encode(document)), Policy(level=None)
        policy = convert_value(document["policy"], Policy)
        return decode_snapshot(msgspec.json.encode(document["snapshot"])), policy
    except (ValueError, KeyError, RecursionError) as error:
        raise UsageError(f"The gpudoctor report is incomplete or damaged ({_trouble_text(text, error)}); attach the whole file.") from None


def _report_document(text: str) -> dict[str, Any] | None:
    begin = _REPORT_BEGINNING.search(text) or _SNAPSHOT_BEGINNING.search(text)
    packed = unpack_document(text) if begin is None else None
    if begin is None and packed is None:
        return None
    json = import_module("json")  # 2 ms, and few texts are reports
    found: dict[str, Any] = json.loads(packed) if begin is None else json.JSONDecoder().raw_decode(text, begin.start())[0]
    return found


def _trouble_text(text: str, error: Exception) -> str:
    """Return what is wrong with a report in words: where it ends, or what it lacks."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    position = getattr(error, "pos", None)  # of a json.JSONDecodeError
    if position is None:
        return str(error)
    sections = _SECTION_KEY.findall(text, 0, position)
    ends = "it ends" if not text[position:].strip("` \n>") else f"it is no JSON at character {position}"
    return f"{ends}{f' in its section {sections[-1]}' if sections else ''}"
