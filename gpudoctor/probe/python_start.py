"""What the start of the target's Python changes in its environment variables: a wrapper script, sitecustomize, usercustomize or a .pth file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.target_facts import TargetFacts
from gpudoctor.probe.variables import relevant_variables
from gpudoctor.snapshot import Missing, Variables, printable_text
from gpudoctor.snapshot.variable_names import READ_LATE

_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""What the loader reads when a process starts: only a wrapper script can set them in time."""
_MAX_BYTES = 64 << 10
"""Bytes of a file to search."""


class StartVariables(msgspec.Struct, frozen=True):
    """The variables of a program in the target environment."""

    environ: Mapping[str, str]
    """All that it has."""
    set_by: Mapping[str, str] = {}
    """By name, the file that changed a variable; empty if it was not found."""

    @property
    def variables(self) -> Variables:
        """The snapshot's section."""
        return Variables(values=relevant_variables(self.environ), set_by={name: printable_text(file) for name, file in self.set_by.items()})


def variables_after_start(environ: Mapping[str, str], seen: TargetFacts, executable: str, path: Iterable[str]) -> StartVariables:
    """What a program has that was started with `environ`; `seen` is the target's report about itself, `path` its sys.path."""
    after = {**environ}
    for names, found in ((READ_LATE, seen.environ), (_LOADER_VARIABLES, seen.variables)):
        if found is not None:
            after = {name: value for name, value in after.items() if name not in names} | {
                name: found[name] for name in names if name in found
            }
    changed = {name for name in (*environ, *after) if environ.get(name) != after.get(name)}
    return StartVariables(after, dict(_changed_variables(changed, after, seen, executable, path)))


def _changed_variables(
    changed: set[str], after: Mapping[str, str], seen: TargetFacts, executable: str, path: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Yield each changed variable with the file that changes it.

    Also one that our own start may have set in the same way, if gpudoctor is installed in the target environment.
    """
    given = _own_start_variables()
    candidates = [*((seen.environ or {}) if seen.started else ()), *changed]
    texts = [(file, files.text_or_empty(file, limit=_MAX_BYTES)) for file in seen.started] if candidates else []
    if changed:
        texts += [(executable, _wrapper_script(executable)), *_pth_files(path)]
    for name in sorted(set(candidates)):
        file = next((file for file, text in texts if name in text), "")
        if name in changed or (file and given.get(name) != after.get(name)):
            yield name, file


def _own_start_variables() -> Mapping[str, str]:
    """The variables that this process was started with, before its own sitecustomize; our own where /proc does not have them."""
    entries = files.read_bytes("/proc/self/environ", limit=1 << 21)
    if isinstance(entries, Missing):
        return os.environ
    pairs = (os.fsdecode(entry).partition("=") for entry in entries.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def _wrapper_script(executable: str) -> str:
    """The text of a wrapper script; empty for a program."""
    text = files.text_or_empty(executable, limit=_MAX_BYTES)
    return text if text.startswith("#!") else ""


def _pth_files(path: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the .pth files of the folders on a sys.path, which may have statements."""
    for folder in path:
        if os.path.isabs(folder):
            yield from (
                (f"{folder}/{name}", files.text_or_empty(f"{folder}/{name}", limit=_MAX_BYTES))
                for name in files.entries_or_empty(folder)
                if name.endswith(".pth")
            )
