"""What the refresh scripts share: releases from a file list, pins from METADATA, and a framework's table rebuilt and compared."""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from refresh_index import Index, IndexFile, parse_wheel_name

from gpudoctor.matrix.resolve import final_release
from gpudoctor.matrix.rows import FrameworkRelease
from gpudoctor.matrix.table import Table
from gpudoctor.matrix.tables import SOURCE_TABLE
from gpudoctor.matrix_files import dump_table, read_table
from gpudoctor.versions import Version

COMPAT = Path(__file__).resolve().parent.parent / "compat"
PLATFORM = "linux_x86_64"

Reading = Callable[[zipfile.ZipFile], dict[str, Any]]


class Release(NamedTuple):
    """The wheels of one release for one platform; `url` is that of the newest interpreter's."""

    distribution: str
    release: Version
    pythons: tuple[str, ...]
    url: str


def group_releases(files: Iterable[IndexFile], platform: str, wanted: Callable[[Version], bool]) -> list[Release]:
    """The final releases that have wheels for `platform`, oldest first."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for file in files:
        wheel = parse_wheel_name(file.filename)
        if wheel and platform in wheel.platforms:
            found.setdefault((wheel.distribution, wheel.release), {})[wheel.python] = file.url
    releases = []
    for (distribution, text), urls in found.items():
        release = final_release(text)
        if release is not None and wanted(release):
            pythons = tuple(sorted(urls, key=_python_order))
            newest = [python for python in pythons if not python.endswith("t")][-1]
            releases.append(Release(distribution, release, pythons, urls[newest]))
    return sorted(releases, key=lambda release: release.release)


def nvidia_pins(metadata: str, extra: str | None) -> tuple[str, ...]:
    """The NVIDIA packages that a wheel's METADATA requires in `extra`, or without one: "nvidia-cudnn-cu12==8.9.4.25"."""
    pins = set()
    for line in metadata.partition("\n\n")[0].splitlines():
        requirement, _, marker = line.removeprefix("Requires-Dist:").partition(";")
        named = re.search(r"""extra\s*==\s*['"]([^'"]+)['"]""", marker)
        if line.startswith("Requires-Dist:") and (named[1] if named else None) == extra:
            pins.add(re.sub(r"[\s()]", "", requirement))
    return tuple(sorted(pin for pin in pins if pin.startswith(("nvidia-", "cuda-"))))


def member(wheel: zipfile.ZipFile, ending: str) -> bytes | None:
    """The content of the wheel's member whose path ends so, the least deep of several; None where there is none."""
    return next((wheel.read(name) for name in sorted(wheel.namelist(), key=len) if name.endswith(ending)), None)


def merged_row(release: Release, told: dict[str, Any], known: FrameworkRelease | None) -> FrameworkRelease:
    """The row of a release: what its wheel tells, over what the table holds of it."""
    blank = FrameworkRelease(
        distribution=release.distribution,
        release=release.release,
        platform=PLATFORM,
        pythons=(),
        accelerator="cpu",
        built_with_cuda=None,
        cudnn=None,
        sass=None,
        ptx=None,
        requires=(),
        builds=(),
        source=(f"{release.distribution}-wheels",),
        note="",
    )
    return msgspec.structs.replace(known or blank, pythons=release.pythons, **told)


def refresh(table: Table[FrameworkRelease], projects: Sequence[str], wanted: Callable[[Version], bool], read: Reading) -> int:
    """Rebuilds a framework's table and shows, checks or writes the difference; the exit status.

    `read` gives the fields that a wheel tells; fields it leaves out keep the value of the row that is there. Where one release
    cannot be read, it is reported and the file stays as it is.
    """
    arguments = _arguments()
    index = Index()
    rows = {table.key(row): row for row in read_table(str(arguments.compat), table)}
    failed = False
    for release in (found for project in projects for found in group_releases(index.files(project), PLATFORM, wanted)):
        print(f"{release.distribution} {release.release}", file=sys.stderr, flush=True)
        try:
            told = read(index.wheel(release.url))
        except (OSError, ValueError, KeyError, SyntaxError, zipfile.BadZipFile) as problem:
            print(f"  failed: {type(problem).__name__}: {problem}", file=sys.stderr)
            failed = True
        else:
            key = (release.distribution, release.release, PLATFORM)
            rows[key] = merged_row(release, told, rows.get(key))
    return 1 if failed else _finish(arguments, table, [rows[key] for key in sorted(rows)])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Rebuilds a table of compat/ from the published wheels; shows the difference.")
    parser.add_argument("--compat", type=Path, default=COMPAT, help="the folder of the tables")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="write the table and the day of reading")
    choice.add_argument("--check", action="store_true", help="exit with 1 where the table differs")
    return parser.parse_args()


def _finish(arguments: argparse.Namespace, table: Table[FrameworkRelease], rows: list[FrameworkRelease]) -> int:
    path = arguments.compat / f"{table.name}.csv"
    before, after = path.read_bytes(), dump_table(table, rows)
    names = (f"a/{path.name}", f"b/{path.name}")
    sys.stdout.writelines(difflib.unified_diff(before.decode().splitlines(True), after.decode().splitlines(True), *names, n=0))
    if arguments.write:
        path.write_bytes(after)
        _date_sources(arguments.compat, {name for row in rows for name in row.source if name.endswith("-wheels")})
    return 1 if arguments.check and before != after else 0


def _date_sources(compat: Path, read: set[str]) -> None:
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    sources = read_table(str(compat), SOURCE_TABLE)
    dated = [msgspec.structs.replace(source, read=today) if source.id in read else source for source in sources]
    (compat / "sources.csv").write_bytes(dump_table(SOURCE_TABLE, dated))


def _python_order(python: str) -> tuple[int, int, bool]:
    major, _, minor = python.partition(".")
    return int(major), int(minor.rstrip("t")), minor.endswith("t")
