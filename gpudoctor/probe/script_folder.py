"""The folder of the user's script: a file or folder in it with the name of a package shadows that package."""

from __future__ import annotations

import os

from gpudoctor.errors import UsageError
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.probe import files
from gpudoctor.snapshot import Cause, Missing, ScriptFolder, printable_text

SHADOWED_NAMES = (*(name for spec in CATALOGUE for name in spec.modules), "numpy")
FOLDER_NOT_GIVEN = Missing(
    Cause.UNSUPPORTED,
    "the training script's folder was not given (--cwd DIR); a torch.py or tensorflow.py in it would shadow the package",
)


def absolute_folder(cwd: str) -> str:
    """The folder as an absolute path. Raises UsageError if it is not a folder."""
    place = os.path.abspath(cwd)
    if not os.path.isdir(place):
        raise UsageError(f"--cwd {printable_text(cwd)}: not a folder; name the one that contains your training script.")
    return place


def script_folder(cwd: str | None) -> ScriptFolder | Missing:
    """What shadows an import there; nothing in it is run."""
    if cwd is None:
        return FOLDER_NOT_GIVEN
    folder = absolute_folder(cwd)
    entries = files.list_folder(folder)
    if isinstance(entries, Missing):
        return entries
    return ScriptFolder(
        printable_text(folder), tuple(printable_text(one) for name in SHADOWED_NAMES if (one := _imported_entry(folder, entries, name)))
    )


def _imported_entry(folder: str, entries: list[str], name: str) -> str:
    """What `import name` finds first: a package with __init__, a compiled module, a file; a folder without __init__ comes last."""
    if name in entries and any(os.path.isfile(f"{folder}/{name}/__init__.{end}") for end in ("py", "pyc")):
        return f"{folder}/{name}"
    modules = (
        entry
        for entry in entries
        if entry in {f"{name}.py", f"{name}.pyc", f"{name}.so"} or (entry.startswith(f"{name}.") and entry.endswith(".so"))
    )
    return next((f"{folder}/{module}" for module in modules if os.path.isfile(f"{folder}/{module}")), "")
