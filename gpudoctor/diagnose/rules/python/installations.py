"""GD5 and GD6: one environment mixed of several, or taken for another."""

from __future__ import annotations

from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.findings import Fix


def _rename(shadow: str) -> Fix:
    """A file keeps its content under another name; what Python compiled of it is not taken then."""
    folder, _, name = shadow.rpartition("/")
    other = f"{folder}/my_{name}"
    return Fix(f"Rename {shadow}", f"mv {shell_path(shadow)} {shell_path(other)}")
