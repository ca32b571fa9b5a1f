"""Writes compat/no_gpu_code.csv: packages without GPU code of their own.

    python -m scripts.refresh.no_gpu_code [--locks LOCK…] [--installed FOLDER…] [--named FILE…]

Rows of other packages stay. A package is pure if every wheel that public lock files list of it is for any platform, and it requires no framework,
Triton or CUDA; compiled if its Linux wheels are about as large as those for macOS, which has no CUDA. Of an installed one the files decide: no
library holds GPU code or loads one of CUDA's, and no Python file compiles Triton kernels. Of a named one the newest release on the package index
decides: it is pure or compiled as in a lock file, and excludes no release of a package that the tables compare. What does exclude one is printed:
its releases belong in others.csv, by scripts/refresh/between.py, where compat compares them.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

from gpudoctor.elf import file as elf
from gpudoctor.frameworks import ADDONS, CATALOGUE
from gpudoctor.matrix.tables import OTHER_RELEASES, TABLE_OF
from gpudoctor.matrix_files import read_table
from gpudoctor.requirement_files.files import tables_of_list
from gpudoctor.requirement_files.locks import is_gpu_related, is_pure_python, is_size_as_on_macos
from gpudoctor.snapshot.distributions import normalise_distribution
from gpudoctor.toml_text import parse_toml
from scripts.refresh.common import AT_ONCE, Published
from scripts.refresh.index import Index, parse_source_name, parse_wheel_name
from scripts.refresh.metadata import requires

TABLE = Path(__file__).parents[2] / "compat" / "no_gpu_code.csv"
_CUDA = ("libcuda", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl", "libnvrtc", "libtorch_cuda")


_KERNELS = (".cu", ".cubin", ".fatbin", ".ptx")


def main() -> None:
    """Write the table from the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locks", nargs="+", type=Path, default=[], help="uv.lock files of public projects")
    parser.add_argument("--installed", nargs="+", type=Path, default=[], help="folders of installed wheels")
    parser.add_argument("--named", nargs="+", type=Path, default=[], help="files with a package's name a line")
    asked = parser.parse_args()
    packages = [table for lock in asked.locks for table in tables_of_list(parse_toml(lock.read_text(), str(lock)).get("package"))]
    with TABLE.open(newline="") as before:
        kept = {row[0]: tuple(row) for row in csv.reader(before)}
    del kept["distribution"]
    tabled = {row.distribution for row in read_table(str(TABLE.parent), OTHER_RELEASES)}
    named = published({normalise_distribution(name) for file in asked.named for name in file.read_text().split()} - kept.keys(), Index())
    belonging = [one for one in named if one["bounds"] and one["name"] not in tabled]
    sys.stdout.writelines(f"{one['name']} {one['version']}: {', '.join(one['bounds'])}\n" for one in belonging)
    without = [one for one in named if one not in belonging and not is_gpu_related(one)]
    rows = {one["name"]: (one["name"], one["kind"], "index-listing", f"release {one['version']}") for one in without} | kept
    rows |= {
        name: (name, "compiled", "public-locks", "its Linux and macOS wheels have like sizes")
        for name in _all(packages, is_size_as_on_macos)
    }
    rows |= {name: (name, "pure", "public-locks", "") for name in _all(packages, is_pure_python)}
    for folder in asked.installed:
        rows |= {name: (name, kind, "wheels-without-gpu-code", release) for name, kind, release in _installed(folder)}
    with TABLE.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(("distribution", "kind", "source", "note"))
        writer.writerows(row for name, row in sorted(rows.items()) if not _known(name))
    sys.stdout.write(f"{len(rows)} packages\n")


def published(names: Collection[str], index: Published) -> list[dict[str, Any]]:
    """Return the newest release of each package without GPU code as a lock file lists it, with its kind and the bounds that tables must hold."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [one for one in pool.map(lambda name: _newest(name, index), sorted(names)) if one is not None]
    kinds = ((one, "pure" if is_pure_python(one) else "compiled" if is_size_as_on_macos(one) else "") for one in found)
    return [{**one, "kind": kind} for one, kind in kinds if kind and (one["bounds"] or not is_gpu_related(one))]


def _newest(name: str, index: Published) -> dict[str, Any] | None:
    try:
        listed = index.files(name)
        files = [(file, wheel.release) for file in listed if (wheel := parse_wheel_name(file.filename)) is not None]
        sources = [source[1] for file in listed if (source := parse_source_name(file.filename)) is not None]
        newest = max(version for text in (*sources, *(release for _, release in files)) if not (version := Version(text)).is_prerelease)
        ours = [file for file, release in files if Version(release) == newest]
        with index.wheel(ours[0].url) as archive:
            member = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
            told = archive.read(member).decode()
        wanted = [Requirement(text) for text in requires(told, "any", _Any()) if "extra" not in text]
    except (OSError, ValueError, IndexError, StopIteration, zipfile.BadZipFile):
        # not published, its newest release without wheels, or with names or requirements that nobody can read: it stays unknown
        return None
    compared = {normalise_distribution(Requirement(text).name) for text in requires(told, "any")}
    return {
        "name": name,
        "version": str(newest),
        "wheels": [{"name": file.filename, "size": file.size} for file in ours],
        "dependencies": [{"name": requirement.name} for requirement in wanted],
        "bounds": [
            str(requirement) for requirement in wanted if normalise_distribution(requirement.name) in compared and _excludes(requirement)
        ],
    }


class _Any:
    """Contains every name: all requirements of a package say whether it is about GPUs."""

    def __contains__(self, name: object) -> bool:
        return True


def _excludes(wanted: Requirement) -> bool:
    """Return whether a requirement is for a framework or an add-on, or excludes newer releases of another package that the tables compare."""
    return _known(normalise_distribution(wanted.name)) or any(bound.operator != ">=" for bound in wanted.specifier)


def _all(packages: list[dict[str, Any]], shows: Callable[[dict[str, Any]], bool]) -> set[str]:
    """Return the names of the packages whose wheels show it wherever they are listed."""
    wheels = [package for package in packages if package.get("wheels")]
    others = {normalise_distribution(wheel["name"]) for wheel in wheels if not shows(wheel) or is_gpu_related(wheel)}
    return {normalise_distribution(wheel["name"]) for wheel in wheels} - others


def _installed(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name, kind and release of each installed distribution whose files have nothing to do with GPUs."""
    for metadata in sorted(folder.glob("*.dist-info")):
        names = [row[0] for row in csv.reader((metadata / "RECORD").read_text().splitlines())]
        libraries = [folder / name for name in names if re.search(r"\.so(?:\.\d+)*$", name)]
        scripts = [folder / name for name in names if name.endswith(".py")]
        kernels = any(name.endswith(_KERNELS) for name in names) or any(map(_compiles_kernels, scripts))
        if not kernels and all(map(_plain, libraries)):
            name, _, release = metadata.stem.partition("-")
            yield normalise_distribution(name), "compiled" if libraries else "pure", f"release {release}"


def _compiles_kernels(script: Path) -> bool:
    return script.is_file() and "triton.jit" in script.read_text(errors="replace")


def _plain(library: Path) -> bool:
    found = elf.read_elf_file(str(library), code=True)
    return not found.sections and not any(name.startswith(_CUDA) for name in found.needed)


def _known(name: str) -> bool:
    return name in TABLE_OF or name in ADDONS or any(name in spec.parts or name in spec.distributions for spec in CATALOGUE)


if __name__ == "__main__":
    main()
