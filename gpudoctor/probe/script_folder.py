"""The folder of the user's script: a file or folder there that bears the name of a package is imported in its place."""

from __future__ import annotations

import os

from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, ScriptFolder, readable

NAMES = (*(name for spec in CATALOGUE for name in spec.modules), "numpy")
NOT_GIVEN = Missing(
    Cause.UNSUPPORTED,
    "the folder of the training script was not given (--cwd DIR); a torch.py or torch/ in it is imported in place of PyTorch",
)


def absolute_folder(cwd: str) -> str:
    """The folder as an absolute path. Raises UsageError where it is none."""
    place = os.path.abspath(cwd)
    if not os.path.isdir(place):
        raise UsageError(f"--cwd {readable(cwd)}: this is not a folder; give the one that your training script is in.")
    return place


def script_folder(cwd: str | None) -> ScriptFolder | Missing:
    """What stands in the way of an import there; nothing of it is run."""
    if cwd is None:
        return NOT_GIVEN
    folder = absolute_folder(cwd)
    entries = files.names(folder)
    if isinstance(entries, Missing):
        return entries
    return ScriptFolder(readable(folder), tuple(readable(one) for name in NAMES if (one := _taken(folder, entries, name))))


def _taken(folder: str, entries: list[str], name: str) -> str:
    """What `import name` finds first: a package with __init__, a compiled module, a file; a folder without __init__ gives way to a package."""
    if name in entries and any(os.path.isfile(f"{folder}/{name}/__init__.{end}") for end in ("py", "pyc")):
        return f"{folder}/{name}"
    modules = (
        one for one in entries if one in {f"{name}.py", f"{name}.pyc", f"{name}.so"} or (one.startswith(f"{name}.") and one.endswith(".so"))
    )
    return next((f"{folder}/{one}" for one in modules if os.path.isfile(f"{folder}/{one}")), "")
