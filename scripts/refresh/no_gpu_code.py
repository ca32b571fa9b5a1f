"""Writes compat/no_gpu_code.csv: packages without GPU code of their own.

    python -m scripts.refresh.no_gpu_code --locks LOCK… --installed FOLDER…

A package is pure if every wheel that public lock files list of it is for any platform, and it requires no framework, Triton or CUDA; compiled if
its Linux wheels are about as large as those for macOS, which has no CUDA. Of an installed one the files decide: no library holds GPU code or loads one of CUDA's, and no Python file compiles Triton kernels.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpudoctor.elf import file as elf
from gpudoctor.frameworks import ADDONS, CATALOGUE
from gpudoctor.matrix.tables import TABLE_OF
from gpudoctor.requirement_files.files import tables
from gpudoctor.requirement_files.locks import as_on_macos, gpu_related, pure
from gpudoctor.snapshot.distributions import normalise
from gpudoctor.toml_text import parsed

TABLE = Path(__file__).parents[2] / "compat" / "no_gpu_code.csv"
_CUDA = ("libcuda", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl", "libnvrtc", "libtorch_cuda")


_KERNELS = (".cu", ".cubin", ".fatbin", ".ptx")


def main() -> None:
    """Write the table from the files that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locks", nargs="+", type=Path, required=True, help="uv.lock files of public projects")
    parser.add_argument("--installed", nargs="+", type=Path, required=True, help="folders of installed wheels")
    asked = parser.parse_args()
    packages = [one for lock in asked.locks for one in tables(parsed(lock.read_text(), str(lock)).get("package"))]
    rows = {name: (name, "compiled", "public-locks", "its Linux and macOS wheels have like sizes") for name in _all(packages, as_on_macos)}
    rows |= {name: (name, "pure", "public-locks", "") for name in _all(packages, pure)}
    for folder in asked.installed:
        rows |= {name: (name, kind, "wheels-without-gpu-code", release) for name, kind, release in _installed(folder)}
    with TABLE.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(("distribution", "kind", "source", "note"))
        writer.writerows(row for name, row in sorted(rows.items()) if not _known(name))
    sys.stdout.write(f"{len(rows)} packages\n")


def _all(packages: list[dict[str, Any]], shows: Callable[[dict[str, Any]], bool]) -> set[str]:
    """Return the names of the packages whose wheels show it wherever they are listed."""
    wheels = [one for one in packages if one.get("wheels")]
    others = {normalise(one["name"]) for one in wheels if not shows(one) or gpu_related(one)}
    return {normalise(one["name"]) for one in wheels} - others


def _installed(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name, kind and release of each installed distribution whose files have nothing to do with GPUs."""
    for metadata in sorted(folder.glob("*.dist-info")):
        names = [row[0] for row in csv.reader((metadata / "RECORD").read_text().splitlines())]
        libraries = [folder / name for name in names if re.search(r"\.so(?:\.\d+)*$", name)]
        scripts = [folder / name for name in names if name.endswith(".py")]
        kernels = any(name.endswith(_KERNELS) for name in names) or any(map(_compiles_kernels, scripts))
        if not kernels and all(map(_plain, libraries)):
            name, _, release = metadata.stem.partition("-")
            yield normalise(name), "compiled" if libraries else "pure", f"release {release}"


def _compiles_kernels(script: Path) -> bool:
    return script.is_file() and "triton.jit" in script.read_text(errors="replace")


def _plain(library: Path) -> bool:
    found = elf.read(str(library), code=True)
    return not found.sections and not any(name.startswith(_CUDA) for name in found.needed)


def _known(name: str) -> bool:
    return name in TABLE_OF or name in ADDONS or any(name in one.parts or name in one.distributions for one in CATALOGUE)


if __name__ == "__main__":
    main()
