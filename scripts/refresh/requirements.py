"""Rebuilds compat/requirements.csv: what releases in the other tables require of packages that bear on no GPU, such as torch of sympy.

Also what they state of a framework that they run beside. A requirement is in one row for all consecutive releases that have it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from gpudoctor.derive.wheel_platform import ANY_PLATFORM, LINUX_X86_64
from gpudoctor.matrix.rows import FrameworkRelease, RequirementSpan
from gpudoctor.matrix.tables import REQUIREMENTS, WHEEL_TABLES
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.beside import documented, stated
from scripts.refresh.common import AT_ONCE, PublishedFiles, Release, SourceArchive, Wheel, arguments, finish, group_releases
from scripts.refresh.index import Index
from scripts.refresh.metadata import bounds, name_of

_EXTRAS = ("srt", "runtime-common")
"""The extras without which SGLang does not serve."""


class Listed(NamedTuple):
    """The rows of one distribution, by release; of several platforms the one that most people have."""

    distribution: str
    rows: Mapping[Version, FrameworkRelease]


def listed(rows: Iterable[FrameworkRelease]) -> list[Listed]:
    """Return the distributions in the tables, with a row for each release."""
    found: dict[str, dict[Version, FrameworkRelease]] = {}
    for row in sorted(rows, key=lambda row: (row.distribution, row.release, _usual(row.platform))):
        found.setdefault(row.distribution, {}).setdefault(row.release, row)
    return [Listed(name, of_name) for name, of_name in found.items()]


def spans(releases: Mapping[Version, tuple[str, ...]], distribution: str, source: tuple[str, ...]) -> Iterator[RequirementSpan]:
    """Yield a row for each requirement and run of consecutive releases that have it."""
    running: dict[str, tuple[Version, Version]] = {}
    for release, texts in sorted(releases.items()):
        for gone in running.keys() - set(texts):
            yield RequirementSpan(distribution, name_of(gone), gone, *running.pop(gone), source, "")
        running |= {text: (running.get(text, (release, release))[0], release) for text in texts}
    for text, span in running.items():
        yield RequirementSpan(distribution, name_of(text), text, *span, source, "")


def read(one: Listed, index: PublishedFiles, cache: Path) -> dict[Version, tuple[str, ...]]:
    """Return what each release requires of packages that its row leaves out. Raises OSError or ValueError if one cannot be read."""
    files: dict[Version, Release] = {}
    found = group_releases(
        index.files(one.distribution), lambda name, release: name == one.distribution and release in one.rows, sources=True
    )
    for release in sorted(found, key=lambda release: _usual(release.platform)):
        files.setdefault(release.release, release)
    wheels = {release: _opened(file, index, cache) for release, file in files.items()}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        texts = pool.map(lambda release: _texts(one.rows[release], wheels[release]), wheels)
        told = dict(zip(wheels, texts, strict=True))
    beside = stated(wheels, one.distribution)
    return {release: (*texts, *beside.get(release, ())) for release, texts in told.items()}


def _opened(release: Release, index: PublishedFiles, cache: Path) -> Wheel:
    return (Wheel if release.file.filename.endswith(".whl") else SourceArchive)(release, index, cache)


def _texts(row: FrameworkRelease, wheel: Wheel) -> tuple[str, ...]:
    return bounds(wheel.metadata(), {row.distribution, *map(name_of, row.requires)}, _EXTRAS)


def _usual(platform: str) -> tuple[bool, bool, str]:
    return platform != LINUX_X86_64, platform != ANY_PLATFORM, platform


def main() -> int:
    """Rebuild the table and show, check or write the difference; return the exit status."""
    options = arguments(())
    everything = listed(row for table in WHEEL_TABLES for row in read_table(str(options.compat), table))
    chosen = [one for one in everything if not options.projects or one.distribution in options.projects]
    names = {one.distribution for one in chosen}
    rows = [row for row in read_table(str(options.compat), REQUIREMENTS) if row.distribution not in names]
    index, failed = Index(), False
    for number, one in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {one.distribution}", file=sys.stderr, flush=True)
        try:
            sources = (*next(iter(one.rows.values())).source[:1], *documented(one.distribution))
            rows += spans(read(one, index, options.cache), one.distribution, sources)
        except (OSError, ValueError) as problem:
            print(f"  failed: {type(problem).__name__}: {problem}", file=sys.stderr)
            failed = True
    return 1 if failed else finish(options, REQUIREMENTS, sorted(rows, key=REQUIREMENTS.key), dated=False)


if __name__ == "__main__":
    sys.exit(main())
