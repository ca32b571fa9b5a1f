"""Packs this gpudoctor, its tables and the packages that it needs, so that a node needs nothing but Ray."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from gpudoctor.matrix_files import shipped_tables

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DISTRIBUTION = "gpudoctor-cli"
_TABLES = "compat"


def shipment() -> bytes:
    """Return the zip file that `task.run` unpacks."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in _files():
            archive.write(path, name)
    return packed.getvalue()


def _files() -> Iterator[tuple[str, str]]:
    """Yield the name in the archive and the path of each file."""
    yield from _below(_PACKAGE, "gpudoctor")
    if not os.path.isdir(os.path.join(_PACKAGE, _TABLES)):  # a clone has them beside the package
        yield from _below(shipped_tables(), f"gpudoctor/{_TABLES}")
    for distribution in _needed(_DISTRIBUTION, set()):
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and not file.parts[0].endswith(".dist-info"):
                yield file.as_posix(), str(file.locate())


def _below(folder: str, name: str) -> Iterator[tuple[str, str]]:
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if one != "__pycache__"]
        for file in files:
            path = os.path.join(place, file)
            yield os.path.join(name, os.path.relpath(path, folder)), path


def _needed(name: str, seen: set[str]) -> Iterator[metadata.Distribution]:
    """Yield what a distribution needs without its extras, and what that needs."""
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        if requirement.name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(requirement.name)
        yield metadata.distribution(requirement.name)
        yield from _needed(requirement.name, seen)
