"""Rebuilds compat/yanked.csv: the releases in the other tables that were withdrawn from the package index (PEP 592), by its file lists alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from gpudoctor.matrix.rows import Withdrawn
from gpudoctor.matrix.tables import WHEEL_TABLES, YANKED
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import arguments, finish, group_releases
from scripts.refresh.index import Index, IndexFile


def withdrawn(listed: Iterable[IndexFile], held: set[Version]) -> tuple[str, ...]:
    """Return the releases whose files were all withdrawn."""
    files = {
        yanked: {found.release for found in group_releases([file for file in listed if file.yanked is yanked], _any, sources=True)}
        for yanked in (False, True)
    }
    return tuple(str(release) for release in sorted((files[True] - files[False]) & held))


def _any(_: str, __: Version) -> bool:
    return True


def main() -> int:
    """Rebuild the table and show, check or write the difference; return the exit status."""
    options = arguments(())
    held: dict[str, set[Version]] = {}
    for table in WHEEL_TABLES:
        for row in read_table(str(options.compat), table):
            held.setdefault(row.distribution, set()).add(row.release)
    rows, index, failed = [], Index(), False
    for name in sorted(held):
        try:
            releases = withdrawn(index.files(name), held[name])
        except (OSError, ValueError) as problem:
            print(f"The list of {name} cannot be read: {problem}", file=sys.stderr)
            failed = True
            continue
        if releases:
            rows.append(Withdrawn(name, releases, ("package-index",), ""))
    return 1 if failed else finish(options, YANKED, rows, dated=False)


if __name__ == "__main__":
    sys.exit(main())
