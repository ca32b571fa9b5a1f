"""Metadata of a release that is gone, left beside the current one by an interrupted upgrade or a copied image layer."""

from __future__ import annotations

import os
from collections.abc import Callable

from gpudoctor.frameworks import CATALOGUE, framework_of, spec_of
from gpudoctor.probe import files
from gpudoctor.probe.python_constants import FileConstants
from gpudoctor.snapshot import Fact

_VERSION_FILES = {
    "numpy": ("numpy/version.py", ("version", "short_version")),
    **{name: place for spec in CATALOGUE for name, place in spec.version_files.items()},
}
"""Where a package itself states its version, and under which name."""
_MAX_RECORD_BYTES = 4 << 20
_SAMPLE_FILES = 8


def current_metadata(folder: str, entries: list[tuple[str, str]], name: str) -> list[str]:
    """The metadata folders of one distribution (entry, version) that match its files; all of them if that is unclear."""
    own = own_version(folder, name)
    tests: tuple[Callable[[str, str], bool], ...] = (
        lambda _, version: bool(own) and version.partition("+")[0] == own.partition("+")[0],
        lambda entry, _: _matches_record(folder, entry),
        lambda entry, _: any(os.path.isfile(f"{folder}/{entry}/{one}") for one in ("METADATA", "PKG-INFO")),
    )
    for fits in tests:
        left = [entry for entry, version in entries if fits(entry, version)]
        if len(left) == 1:
            return left
    return [entry for entry, _ in entries]


def own_version(folder: str, name: str) -> str:
    """The version that the package's own files state; empty if they state none."""
    if name in _VERSION_FILES:
        file, names = _VERSION_FILES[name]
        found = FileConstants(f"{folder}/{file}").text(*names)
        return found.value if isinstance(found, Fact) else ""
    headers = spec_of(framework_of(name) or "").version_headers
    return next(filter(None, (_version_in_header(files.lines_or_empty(f"{folder}/{header}")) for header in headers)), "")


def _version_in_header(lines: list[str]) -> str:
    """The version that a header defines in TensorFlow's manner."""
    words = {line.split()[1]: line.split()[2] for line in lines if line.startswith("#define TF_") and len(line.split()) > 2}
    parts = [words.get(f"TF_{part}_VERSION", "") for part in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts) if all(part.isdecimal() for part in parts) else ""


def _matches_record(folder: str, entry: str) -> bool:
    """Whether existing files have the sizes in RECORD, and some exist."""
    lines = files.lines_or_empty(f"{folder}/{entry}/RECORD", limit=_MAX_RECORD_BYTES)
    rows = (line.rsplit(",", 2) for line in lines if ".dist-info/" not in line)
    sized = [(row[0].strip('"'), int(row[2])) for row in rows if len(row) == 3 and row[2].isdecimal() and len(row[2]) < 20 and int(row[2])]
    sample = sorted(sized, key=lambda row: -row[1])[:_SAMPLE_FILES]  # the largest files differ between releases
    return bool(sample) and all(_file_size(f"{folder}/{path}") == size for path, size in sample)


def _file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return -1
