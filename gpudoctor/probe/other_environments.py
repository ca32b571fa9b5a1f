"""The frameworks in this user's other environments, one of which may be the one the user wanted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from gpudoctor.frameworks import framework_of
from gpudoctor.probe import files
from gpudoctor.probe.packages import parse_metadata_name
from gpudoctor.snapshot import Distribution, printable_text


def frameworks_elsewhere(environ: Mapping[str, str], executable: str, path: Iterable[str], root: str) -> tuple[Distribution, ...]:
    """The frameworks beside the interpreter `executable`, in active environments, the user's site-packages and beside PATH's interpreters, outside `path`, a sys.path.

    PATH and the user's folder are ignored for another machine's tree.
    """
    seen = {os.path.realpath(folder) for folder in path}
    found: list[Distribution] = []
    for folder in _package_folders(environ, executable, whole=root == "/"):
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        named = filter(None, map(parse_metadata_name, files.entries_or_empty(folder)))
        found += (
            Distribution(printable_text(name), printable_text(version), printable_text(folder))
            for name, version in named
            if framework_of(name)
        )
    return tuple(found)


def _package_folders(environ: Mapping[str, str], executable: str, *, whole: bool) -> Iterator[str]:
    """Folders of packages that the user may have wanted."""
    for prefix in _environment_prefixes(environ, executable, whole=whole):
        for folder in ("lib", "local/lib"):
            for entry in files.entries_or_empty(f"{prefix}/{folder}"):
                if entry.startswith("python"):
                    yield f"{prefix}/{folder}/{entry}/site-packages"
                    yield f"{prefix}/{folder}/{entry}/dist-packages"


def _environment_prefixes(environ: Mapping[str, str], executable: str, *, whole: bool) -> Iterator[str]:
    if executable:
        yield os.path.dirname(os.path.dirname(executable))  # with another Python since, or without its pyvenv.cfg
    yield from filter(os.path.isabs, (environ.get("VIRTUAL_ENV", ""), environ.get("CONDA_PREFIX", "")))
    if not whole:
        return
    if os.path.isabs(home := environ.get("HOME", "")):
        yield f"{home}/.local"
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder) and any(os.path.exists(f"{folder}/{name}") for name in ("python3", "python", "pip")):
            yield os.path.dirname(folder)
