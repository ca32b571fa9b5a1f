"""The fix for a file that shadows a package."""

from __future__ import annotations

from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.findings import Fix


def rename(path: str) -> Fix:
    """Return the fix that renames a file which shadows a package."""
    folder, _, name = path.rpartition("/")
    return Fix(f"Rename {path}", f"mv {shell_path(path)} {shell_path(f'{folder}/my_{name}')}")
