"""Finds a gpudoctor report in a text: the JSON that `check --format json` wrote, alone or inside Markdown."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.findings import Policy
from gpudoctor.snapshot import Snapshot, decode

_BEGIN = re.compile(r'\{\s{0,20}"schema"\s{0,20}:\s{0,20}"gpudoctor\.report/1"')


def own_report(data: bytes) -> tuple[Snapshot, Policy] | None:
    """Return the snapshot of the first report in `data` and what was asked of it; None if there is no report.

    Raises UsageError if a report begins and cannot be read.
    """
    text = data.decode("utf-8", "replace")
    begin = _BEGIN.search(text)
    if begin is None:
        return None
    try:
        document: dict[str, Any] = json.JSONDecoder().raw_decode(text, begin.start())[0]
        policy = msgspec.convert(document["policy"], Policy)
        return decode(msgspec.json.encode(document["snapshot"])), policy
    except (ValueError, KeyError, RecursionError) as error:
        raise UsageError(f"The gpudoctor report is incomplete or damaged ({error}); attach the whole file.") from None
