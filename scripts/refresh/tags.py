"""Rebuilds compat/tags.csv: the C libraries that the Linux wheels of the releases in the other tables accept, by their file names alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence

from gpudoctor.matrix.rows import FrameworkRelease, WheelTags
from gpudoctor.matrix.tables import WHEEL_TABLES, WHEEL_TAGS
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.common import arguments, finish, group_releases
from scripts.refresh.index import Index, IndexFile, parse_wheel_name

_LINUX = ("linux_x86_64", "linux_aarch64")
_OLD = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}
"""The tags older than PEP 600 (PEP 513, 571, 599)."""


def tags_of(filename: str, machine: str) -> set[str]:
    """Return the tags of a wheel for a machine, without it and as PEP 600 spells them; a bare "linux" states nothing."""
    named = (
        tag.removesuffix(f"_{machine}") for tag in filename.removesuffix(".whl").rpartition("-")[2].split(".") if tag.endswith(machine)
    )
    return {_OLD.get(tag, tag) for tag in named if re.fullmatch(r"manylinux.+|musllinux_.+", tag)}


def oldest(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tag of the oldest C library of each kind."""
    found: dict[str, tuple[int, ...]] = {}
    for tag in tags:
        kind, *numbers = tag.split("_")
        version = tuple(map(int, numbers))
        found[kind] = min(found.get(kind, version), version)
    return tuple(f"{kind}_{'_'.join(map(str, version))}" for kind, version in sorted(found.items()))


def spans(listed: Sequence[IndexFile], rows: Sequence[FrameworkRelease]) -> Iterator[WheelTags]:
    """Yield a row for each release from which on a distribution's wheels for a platform accept other C libraries."""
    distribution, source = rows[0].distribution, next((name for name in rows[-1].source if name.endswith("-wheels")), rows[-1].source[0])
    held = {(row.release, row.platform) for row in rows}
    for platform in _LINUX:
        found: dict[Version, set[str]] = {}
        for file in listed:
            wheel = parse_wheel_name(file.filename)
            for one in group_releases([file], lambda name, _: name == distribution) if wheel else ():
                if one.platform == platform and (one.release, platform) in held:
                    found.setdefault(one.release, set()).update(tags_of(file.filename, platform.removeprefix("linux_")))
        before: tuple[str, ...] | None = None
        for release, tags in sorted(found.items()):
            now = oldest(tags)
            if now != before:
                yield WheelTags(distribution, platform, release, now, (source,), "")
            before = now


def main() -> int:
    """Rebuild the table and show, check or write the difference; return the exit status."""
    options = arguments(())
    by_name: dict[str, list[FrameworkRelease]] = {}
    for table in WHEEL_TABLES:
        for row in read_table(str(options.compat), table):
            by_name.setdefault(row.distribution, []).append(row)
    chosen = {name: rows for name, rows in by_name.items() if not options.projects or name in options.projects}
    rows = [row for row in read_table(str(options.compat), WHEEL_TAGS) if row.distribution not in chosen]
    index, failed = Index(), False
    for name, releases in chosen.items():
        if not any(row.platform in _LINUX for row in releases):
            continue
        try:
            rows += spans(index.files(name), releases)
        except (OSError, ValueError) as problem:
            print(f"The list of {name} cannot be read: {problem}", file=sys.stderr)
            failed = True
    return 1 if failed else finish(options, WHEEL_TAGS, sorted(rows, key=WHEEL_TAGS.key), dated=False)


if __name__ == "__main__":
    sys.exit(main())
