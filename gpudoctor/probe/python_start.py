"""What the start of the target's Python changes in its environment variables: a wrapper script, sitecustomize, usercustomize or a .pth file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.probe import files
from gpudoctor.probe.inside import Inside
from gpudoctor.probe.variables import values
from gpudoctor.snapshot import Missing, Variables, readable
from gpudoctor.snapshot.variable_names import READ_LATE

_LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD")
"""What the loader reads when a process starts: only a wrapper script can set them in time."""
_LONGEST = 64 << 10
"""Bytes of a file to search."""


class Start(msgspec.Struct, frozen=True):
    """The variables of a program in the target environment."""

    environ: Mapping[str, str]
    """All that it has."""
    set_by: Mapping[str, str] = {}
    """By name, the file that changed a variable; empty if it was not found."""

    @property
    def variables(self) -> Variables:
        """The snapshot's section."""
        return Variables(values=values(self.environ), set_by={name: readable(file) for name, file in self.set_by.items()})


def start(environ: Mapping[str, str], seen: Inside, executable: str, path: Iterable[str]) -> Start:
    """What a program has that was started with `environ`; `seen` is the target's report about itself, `path` its sys.path."""
    after = {**environ}
    for names, found in ((READ_LATE, seen.environ), (_LOADER, seen.variables)):
        if found is not None:
            after = {name: value for name, value in after.items() if name not in names} | {
                name: found[name] for name in names if name in found
            }
    changed = {name for name in (*environ, *after) if environ.get(name) != after.get(name)}
    return Start(after, dict(_set_by(changed, after, seen, executable, path)))


def _set_by(changed: set[str], after: Mapping[str, str], seen: Inside, executable: str, path: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each changed variable with the file that changes it.

    Also one that our own start may have set in the same way, if gpudoctor is installed in the target environment.
    """
    given = _at_our_start()
    candidates = [*((seen.environ or {}) if seen.started else ()), *changed]
    texts = [(file, files.text(file, limit=_LONGEST)) for file in seen.started] if candidates else []
    if changed:
        texts += [(executable, _script(executable)), *_path_files(path)]
    for name in sorted(set(candidates)):
        file = next((file for file, text in texts if name in text), "")
        if name in changed or (file and given.get(name) != after.get(name)):
            yield name, file


def _at_our_start() -> Mapping[str, str]:
    """The variables that this process was started with, before its own sitecustomize; our own where /proc does not have them."""
    entries = files.content("/proc/self/environ", limit=1 << 21)
    if isinstance(entries, Missing):
        return os.environ
    pairs = (os.fsdecode(entry).partition("=") for entry in entries.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def _script(executable: str) -> str:
    """The text of a wrapper script; empty for a program."""
    text = files.text(executable, limit=_LONGEST)
    return text if text.startswith("#!") else ""


def _path_files(path: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the .pth files of the folders on a sys.path, which may have statements."""
    for folder in path:
        if os.path.isabs(folder):
            yield from (
                (f"{folder}/{name}", files.text(f"{folder}/{name}", limit=_LONGEST))
                for name in files.entries(folder)
                if name.endswith(".pth")
            )
