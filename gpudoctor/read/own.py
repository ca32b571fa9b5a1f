"""Finds a gpudoctor report in a text: the JSON that `check --format json` wrote, alone or in Markdown or HTML, or a ticket's compressed one."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy
from gpudoctor.packed import unpack
from gpudoctor.snapshot import Snapshot, decode

_BEGIN = re.compile(r'\{\s{0,20}"schema"\s{0,20}:\s{0,20}"gpudoctor\.report/1"')


def own_report(data: bytes) -> tuple[Snapshot, Policy] | None:
    """Return the snapshot of the first report in `data` and what was asked of it; None if there is no report.

    Raises UsageError if a report begins and cannot be read.
    """
    text = data.decode("utf-8", "replace")
    try:
        document = _json(text)
        if document is None:
            return None
        policy = msgspec.convert(document["policy"], Policy)
        return decode(msgspec.json.encode(document["snapshot"])), policy
    except (ValueError, KeyError, RecursionError) as error:
        raise UsageError(f"The gpudoctor report is incomplete or damaged ({error}); attach the whole file.") from None


def _json(text: str) -> dict[str, Any] | None:
    begin = _BEGIN.search(text)
    if begin is not None:
        found: dict[str, Any] = json.JSONDecoder().raw_decode(text, begin.start())[0]
        return found
    packed = unpack(text)
    return None if packed is None else json.loads(packed)
