"""Packs this gpudoctor, its tables and the packages that it needs. A node then needs nothing but Ray."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpudoctor.matrix_files import shipped_tables

_PACKAGE_FOLDER = Path(__file__).resolve().parent.parent
_DISTRIBUTION = "gpudoctor-cli"
_TABLES_FOLDER = "compat"


def shipment_archive() -> bytes:
    """Return the zip file that `task.run_shipped` unpacks."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in _shipped_files():
            archive.write(path, name)
    return packed.getvalue()


def _shipped_files() -> Iterator[tuple[str, Path]]:
    """Yield the name in the archive and the path of each file."""
    yield from _files_below(_PACKAGE_FOLDER, "gpudoctor")
    if not (_PACKAGE_FOLDER / _TABLES_FOLDER).is_dir():  # a clone has them beside the package
        yield from _files_below(Path(shipped_tables()), f"gpudoctor/{_TABLES_FOLDER}")
    for distribution in _needed_distributions(_DISTRIBUTION, set()):
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc" and not file.parts[0].endswith(".dist-info"):
                yield file.as_posix(), Path(str(file.locate()))


def _files_below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts:
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


def _needed_distributions(name: str, seen: set[str]) -> Iterator[metadata.Distribution]:
    """Yield what a distribution needs without its extras, and what that needs."""
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        needed = canonicalize_name(requirement.name)
        if needed in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen.add(needed)
        yield metadata.distribution(needed)
        yield from _needed_distributions(needed, seen)
