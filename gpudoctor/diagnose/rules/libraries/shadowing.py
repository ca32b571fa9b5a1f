"""GD4 and GD8: another copy of a CUDA library that wins over the one that a framework was given."""

from __future__ import annotations

from gpudoctor.diagnose.library_facts import Copy
from gpudoctor.findings import Severity
from gpudoctor.versions import Version


def _severity(one: Copy) -> Severity | None:
    if one.fatal:
        return None
    return Severity.NOTE if one.unlike == "same" else Severity.WARNING


def _how(one: Copy) -> str:
    wanted = f"the build wants {one.wanted}" if one.wanted else "which release the build wants is not known"
    if not isinstance(one.version, Version):
        return f"its release cannot be told, {wanted}"
    return {
        "major": f"it is {one.version}, another major release; {wanted}",
        "older": f"it is {one.version}, and {wanted} or later",
        "other": f"it is {one.version}, {wanted}",
        "same": f"it is {one.version}, the same release",
    }.get(one.unlike, f"it is {one.version}, {wanted}")
