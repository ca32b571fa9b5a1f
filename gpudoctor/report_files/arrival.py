"""One piece of input: the text of a report, or why there is none."""

from __future__ import annotations

import msgspec


class Arrival(msgspec.Struct, frozen=True, kw_only=True):
    """What may be a report. Without data, `kind` and `reason` say why."""

    source: str
    """The file, and the member or line within it."""
    data: bytes | None = None
    stem: str = ""
    """The node's name, if the file is called by it."""
    kind: str = ""
    """A word of `report.fleet.Unread`."""
    reason: str = ""
