"""A gpudoctor report together with texts about the same machine: what the check did not look at, the texts may state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from gpudoctor.snapshot import Cause, Fact, Missing, Snapshot

_UNKNOWN_CAUSES = {Cause.NOT_ASKED, Cause.NOT_STATED, Cause.DENIED}
"""Why a report says nothing about what a text states. A call that failed is an observation."""
_FILE_FIELDS = {"version", "created", "origin", "remarks"}


def report_with_text(report: Snapshot, text: Snapshot) -> Snapshot:
    """Return the report's machine, with what it does not know taken from the text. Where both know something, the report is used."""
    sections = [name for name in Snapshot.__struct_fields__ if name not in _FILE_FIELDS]
    taken = {name: _filled_value(getattr(report, name), getattr(text, name)) for name in sections}
    differences = (line for name in sections for line in _value_differences(name, getattr(report, name), getattr(text, name)))
    return msgspec.structs.replace(report, **taken, remarks=(*report.remarks, *text.remarks, *differences))


def _filled_value(known: Any, stated: Any) -> Any:
    if isinstance(known, Missing):
        return stated if known.cause in _UNKNOWN_CAUSES and not isinstance(stated, Missing) else known
    if not isinstance(known, msgspec.Struct) or type(known) is not type(stated):
        return known
    return msgspec.structs.replace(
        known, **{name: _filled_value(getattr(known, name), getattr(stated, name)) for name in known.__struct_fields__}
    )


def _value_differences(name: str, known: Any, stated: Any) -> Iterator[str]:
    """Yield where the text states another value than the report."""
    if isinstance(known, tuple) and isinstance(stated, tuple):
        for one in known:
            same = next((other for other in stated if getattr(other, "name", "") == getattr(one, "name", None)), None)
            yield from _value_differences(f"{name} {one.name}", one, same) if same else ()
    if type(known) is not type(stated) or not isinstance(known, msgspec.Struct):
        return
    if isinstance(known, Fact):
        if known.value != stated.value:
            yield f"{stated.where} says {name.replace('_', ' ')} {stated.value}; the report says {known.value}, which was used"
        return
    for field in known.__struct_fields__:
        yield from _value_differences(f"{name} {field}", getattr(known, field), getattr(stated, field))
