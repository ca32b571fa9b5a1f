"""Rebuilds compat/pythons.csv: the releases with wheels for each Python version of the packages in it, by their file names alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from gpudoctor import versions
from gpudoctor.derive.wheel_platform import LINUX_X86_64
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.matrix.rows import PythonSpan
from gpudoctor.matrix.tables import PYTHONS
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import arguments, finish
from scripts.refresh.index import Index, IndexFile, parse_wheel_name


def spans(distribution: str, listed: Sequence[IndexFile], source: tuple[str, ...]) -> Iterator[PythonSpan]:
    """Yield a row for each Python version with wheels for Linux on x86_64; builds without the GIL are left out."""
    found: dict[str, set[Version]] = {}
    for file in listed:
        wheel = parse_wheel_name(file.filename)
        release = final_release(wheel.release.partition(".post")[0]) if wheel and LINUX_X86_64 in wheel.platforms else None
        if wheel and release:
            for python in wheel.pythons:
                found.setdefault(python, set()).add(release)
    newest = max((max(releases) for releases in found.values()), default=None)
    for python, releases in found.items():
        version, last = versions.parse_version(python), max(releases)
        if version and not python.endswith("t"):
            yield PythonSpan(distribution, version, min(releases), None if last == newest else last, source, "")


def main() -> int:
    """Rebuild the table and show, check or write the difference; return the exit status. Raises OSError if the index cannot be reached."""
    options = arguments(())
    known = read_table(str(options.compat), PYTHONS)
    sources = {row.distribution: row.source for row in known}
    chosen = {name: sources.get(name, (f"{name}-wheels",)) for name in options.projects or sources}
    rows, index = [row for row in known if row.distribution not in chosen], Index()
    for name, source in chosen.items():
        rows += spans(name, index.files(name), source)
    return finish(options, PYTHONS, sorted(rows, key=PYTHONS.key), dated=False)


if __name__ == "__main__":
    sys.exit(main())
