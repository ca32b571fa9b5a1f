"""Shared by the refresh modules: releases from a list of files, wheels with cached answers, and rebuilding and comparing a table."""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import difflib
import io
import json
import os
import re
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import msgspec
from packaging.requirements import Requirement

from gpudoctor.derive.wheel_platform import ANY_PLATFORM, LINUX_X86_64
from gpudoctor.matrix.cells import kind_of
from gpudoctor.matrix.row_matching import final_release
from gpudoctor.matrix.rows import FrameworkRelease
from gpudoctor.matrix.table import Row, Table
from gpudoctor.matrix.tables import SOURCE_TABLE
from gpudoctor.matrix_files import read_table
from gpudoctor.versions import Version
from scripts.refresh.index import Index, IndexFile, WheelName, parse_source_name, parse_wheel_name, python_order, pythons_within

COMPAT = Path(__file__).resolve().parents[2] / "compat"
PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "macos_arm64", "macos_x86_64", "any")
_ONLY_DEVELOPMENT = {"tensorflow-directml-plugin", "torch-directml"}
_WITHOUT_GIL = (3, 13)
"""The first Python with a build without the GIL."""
AT_ONCE = 8
"""Wheels read in parallel; most of the time is spent waiting for small responses."""
_LOOKED_UP, _STREAMED = 1 << 16, 1 << 23
"""Bytes per request for a few members, and for a library of hundreds of megabytes."""


class Release(NamedTuple):
    """The wheels of one release for one platform; `file` is the newest interpreter's."""

    distribution: str
    release: Version
    platform: str
    pythons: tuple[str, ...]
    file: IndexFile


class Published(Protocol):
    """A package index: its files, and wheels read from it."""

    def files(self, project: str) -> list[IndexFile]:
        """Return the files of a project."""
        ...

    def wheel(self, url: str, least: int = ..., /) -> zipfile.ZipFile:
        """Return a wheel that transfers only what is read, at least `least` bytes at a time."""
        ...


class PublishedFiles(Published, Protocol):
    """A package index that also returns files that are no wheels."""

    def file(self, url: str, least: int = ..., /) -> IO[bytes]:
        """Return a file that transfers only what is read, at least `least` bytes at a time."""
        ...


Wanted = Callable[[str, Version], bool]
"""Whether a table holds this release of this distribution."""


class Wheel:
    """A published wheel, opened when it is first read; earlier answers come from the cache.

    Published files never change, so cached answers stay valid; `question` must identify them exactly.
    """

    def __init__(self, release: Release, index: Published, cache: Path) -> None:
        self.release = release
        self._index, self._opened, self._cache = index, index.wheel, cache
        self._zip: zipfile.ZipFile | None = None
        self._learnt = _Learnt(cache / f"{release.file.filename}.json")

    @property
    def zip(self) -> zipfile.ZipFile:
        """Return the archive, which transfers only what is read."""
        if self._zip is None:
            self._zip = self._opened(self.release.file.url, _LOOKED_UP)
        return self._zip

    def find(self, ending: str) -> str | None:
        """Return the member whose path ends like this, the least deeply nested if there are several; None if there is none."""
        return next((name for name in sorted(self.zip.namelist(), key=len) if f"/{name}".endswith(ending)), None)

    def text(self, ending: str) -> str | None:
        """Return the text of the member whose path ends like this, cached; None if there is no such member."""

        def read() -> str | None:
            name = self.find(ending)
            return None if name is None else self.zip.read(name).decode()

        found: str | None = self.learn(f"text of {ending}", read)
        return found

    def metadata(self) -> str:
        """Return its METADATA without the description. Raises ValueError if it has none."""

        def read() -> str:
            name = self.find(".dist-info/METADATA") or self.find(".dist.info/METADATA")  # torch 1.7.0 for Windows has this name
            if name is None:
                raise ValueError("the wheel has no METADATA")
            return self.zip.read(name).decode().replace("\r\n", "\n").partition("\n\n")[0]

        return str(self.learn("METADATA", read))

    def required(self, requirement: Requirement) -> Wheel:
        """Return the newest wheel that a requirement allows, for the same platform. Raises ValueError if the index has none."""
        platform = self.release.platform
        found = group_releases(self._index.files(requirement.name), lambda _, release: str(release) in requirement.specifier)
        fitting = [release for release in found if release.platform == platform]
        if not fitting:
            raise ValueError(f"{requirement} has no wheel for {platform}")
        return Wheel(fitting[-1], self._index, self._cache)

    def learn(self, question: str, read: Callable[[], Any]) -> Any:
        """Return the cached answer to a question, otherwise the answer of `read` (a JSON value), which is then cached."""
        return self._learnt.answer(question, read)

    def learn_of(self, ending: str, question: str, read: Callable[[IO[bytes]], Any]) -> Any:
        """Return the answer to a question about one big member, which `read` streams once; None if there is no such member.

        Cached by the member's digest in RECORD, because distributions often share a library. Without a digest (wheels renamed by hand) it is
        cached for this wheel only.
        """

        def name_and_digest() -> list[str] | None:
            member, record = self.find(ending), self.find(".dist-info/RECORD")
            lines = csv.reader(io.StringIO(self.zip.read(record).decode())) if record else ()
            return [member, next((line[1] for line in lines if line and line[0] == member), "")] if member else None

        def stream() -> Any:
            with self._opened(self.release.file.url, _STREAMED).open(found[0]) as member:
                return read(member)

        found = self.learn(f"name and digest of {ending}", name_and_digest)
        if found is None:
            return None
        if not found[1]:
            return self.learn(f"{question} of {ending}", stream)
        return _Learnt(self._cache / f"{found[1]}.json").answer(question, stream)


class SourceArchive(Wheel):
    """A published source archive, of a release that has no wheel."""

    def __init__(self, release: Release, index: PublishedFiles, cache: Path) -> None:
        super().__init__(release, index, cache)
        self._read = index.file

    def metadata(self) -> str:
        """Return its PKG-INFO without the description, with its requirements; empty if it has none, as archives that only fetch a wheel from elsewhere."""

        def read() -> str:
            stated, listed = "", ""
            with tarfile.open(fileobj=self._read(self.release.file.url, _STREAMED), mode="r|gz") as members:
                for member in members:
                    is_metadata = re.fullmatch(r"[^/]+/PKG-INFO", member.name) is not None
                    found = members.extractfile(member) if is_metadata or member.name.endswith(".egg-info/requires.txt") else None
                    text = found.read().decode(errors="replace").replace("\r\n", "\n") if found is not None else ""
                    if is_metadata:
                        stated = text.partition("\n\n")[0]
                    elif text:
                        listed = text
                    if "\nRequires-Dist:" in stated or (stated and listed):
                        break
            return stated if "\nRequires-Dist:" in stated or not stated else "\n".join((stated, *required_in(listed)))

        return str(self.learn("METADATA with requirements", read))


def required_in(text: str) -> Iterator[str]:
    """Yield the lines of METADATA for the requires.txt that setuptools writes: a section is "[extra:marker]", and either may be empty."""
    extra = marker = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("["):
            extra, _, marker = line.strip("[]").partition(":")
            continue
        requirement, _, own = line.partition(";")
        markers = [f"({part.strip()})" for part in (own, marker) if part.strip()] + ([f'extra == "{extra}"'] if extra else [])
        yield f"Requires-Dist: {requirement.strip()}" + (f" ; {' and '.join(markers)}" if markers else "")


class _Learnt:
    """The answers in one file of the cache."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}

    def answer(self, question: str, read: Callable[[], Any]) -> Any:
        if question not in self._answers:
            self._answers[question] = read()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._path.with_suffix(f".{threading.get_ident()}")  # two wheels may hold the same library
            fresh.write_text(json.dumps(self._answers), encoding="utf-8")
            fresh.replace(self._path)
        return self._answers[question]


Reading = Callable[[Wheel], dict[str, Any]]
"""The fields of a row that a wheel provides."""


def numpy_abi(module: bytes) -> int | None:
    """Return the newest major version of NumPy that a compiled module supports: NumPy 2's headers name numpy._core, earlier ones only numpy.core.

    None if the module does not use NumPy's C interface.
    """
    if b"numpy._core._multiarray_umath" in module:
        return 2
    return 1 if b"numpy.core" in module else None


def group_releases(listed: Sequence[IndexFile], wanted: Wanted, *, sources: bool = False) -> list[Release]:
    """Return the final releases by platform, sorted as in the tables; a universal wheel has the platform "any".

    With `sources`, a release without a wheel for Linux on x86_64 is there with its source archive too: an installer compiles it.
    """
    found: dict[tuple[str, Version, str], dict[str, IndexFile]] = {}
    for file in listed:
        wheel = parse_wheel_name(file.filename)
        release = _published(wheel) if wheel else None
        if wheel is None or release is None or not wanted(wheel.distribution, release):
            continue
        for platform in wheel.platforms & set(PLATFORMS):
            for python in _interpreters(wheel, file):
                found.setdefault((wheel.distribution, release, platform), {})[python] = file
    have = {(distribution, release) for distribution, release, platform in found if platform in {LINUX_X86_64, ANY_PLATFORM}}
    for file in listed if sources else ():
        named = parse_source_name(file.filename)
        release = final_release(named[1]) if named else None
        if named is None or release is None or (named[0], release) in have or not wanted(named[0], release):
            continue
        for python in pythons_within(file.requires_python) or ("",):
            found.setdefault((named[0], release, ANY_PLATFORM), {})[python] = file
    return [Release(*key, tuple(filter(None, _sorted(files))), files[_telling(files)]) for key, files in sorted(found.items())]


def _interpreters(wheel: WheelName, file: IndexFile) -> tuple[str, ...]:
    """Return the interpreters that a wheel is for: those in its name that its metadata allows; ("",) if neither says anything.

    Libraries without a module for Python load in every interpreter; for pure Python, the build without the GIL needs no mention.
    """
    allowed = pythons_within(file.requires_python)
    named = tuple(python for python in wheel.pythons if python.rstrip("t") in allowed)
    without_gil = (f"{python}t" for python in allowed if python_order(python) >= _WITHOUT_GIL and wheel.platforms != {ANY_PLATFORM})
    return named or wheel.pythons or tuple(_sorted((*allowed, *without_gil))) or ("",)


def _published(wheel: WheelName) -> Version | None:
    """Return the release if a table may have it: a final one, or a development release if the project makes no others."""
    if wheel.distribution in _ONLY_DEVELOPMENT and ".dev" in wheel.release:
        parsed: Version = kind_of("Release").parse(wheel.release)
        return parsed
    return final_release(wheel.release)


def merged_row(release: Release, told: dict[str, Any], known: FrameworkRelease | None) -> FrameworkRelease:
    """Return the row of a release: the table's row, updated with what its wheel says."""
    blank = FrameworkRelease(
        distribution=release.distribution,
        release=release.release,
        platform=release.platform,
        pythons=(),
        accelerator="cpu",
        built_with_cuda=None,
        cudnn=None,
        sass=None,
        ptx=None,
        requires=(),
        numpy_abi=None,
        builds=(),
        unreachable=None,
        source=(f"{release.distribution}-wheels",),
        note="",
    )
    return msgspec.structs.replace(known or blank, pythons=release.pythons, **told)


def refresh(table: Table[FrameworkRelease], projects: Sequence[str], wanted: Wanted, read: Reading, sources: Container[str] = ()) -> int:
    """Rebuild a framework's table and show, check or write the difference; return the exit status.

    `read` returns the fields that a wheel provides; other fields keep the value in the existing row. Rows of releases without a wheel
    (only an sdist) are kept; of the projects in `sources` those are read too. If a release cannot be read, that is reported and the file is not changed.
    """
    options = arguments(projects)
    index = Index()
    rows = {table.key(row): row for row in read_table(str(options.compat), table)}
    listed = [_listed(index, project, wanted, sources=project in sources) for project in options.projects or projects]
    releases = [release for found in listed if found for release in found]
    failed = None in listed
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = pool.map(lambda release: _told(release, index, options.cache, read), releases)
        for number, (release, told) in enumerate(zip(releases, answers, strict=True), start=1):
            print(f"[{number}/{len(releases)}] {release.distribution} {release.release} {release.platform}", file=sys.stderr, flush=True)
            if isinstance(told, Exception):
                print(f"  failed: {type(told).__name__}: {told}", file=sys.stderr)
                failed = True
            else:
                row = merged_row(release, told, rows.get(release[:3]))
                rows[table.key(row)] = row
    held = {(row.distribution, row.release) for row in rows.values()}
    left = [one for project in options.projects or projects for one in _left(index, project, wanted, held)]
    for distribution, version in left:
        print(f"{distribution} {version} has no wheel for a platform of the tables, and no row.", file=sys.stderr)
    return (
        1
        if failed or (left and options.check)
        else finish(options, table, [rows[key] for key in sorted(rows)], options.projects or projects)
    )


def _left(index: Index, project: str, wanted: Wanted, held: set[tuple[str, Version]]) -> list[tuple[str, Version]]:
    """Return the final releases on the index that the table should have and lacks."""
    try:
        wheels = [wheel for file in index.files(project) if (wheel := parse_wheel_name(file.filename))]
    except (OSError, ValueError):
        return []
    found = {(wheel.distribution, release) for wheel in wheels if (release := _published(wheel)) and wanted(wheel.distribution, release)}
    return sorted(found - held)


def _listed(index: Index, project: str, wanted: Wanted, *, sources: bool) -> list[Release] | None:
    """Return the releases of a project; None, after a message, if the index does not list it."""
    try:
        return group_releases(index.files(project), wanted, sources=sources)
    except (OSError, ValueError) as problem:
        print(f"The list of {project} cannot be read: {problem}", file=sys.stderr)
        return None


def _told(release: Release, index: Index, cache: Path, read: Reading) -> dict[str, Any] | Exception:
    try:
        return read((Wheel if release.file.filename.endswith(".whl") else SourceArchive)(release, index, cache))
    except (OSError, ValueError, KeyError, SyntaxError, zipfile.BadZipFile) as problem:
        return problem


def _sorted(pythons: Iterable[str]) -> list[str]:
    return sorted(pythons, key=lambda python: python_order(python or "0.0"))


def _telling(pythons: Iterable[str]) -> str:
    """Return the interpreter whose wheel represents the release: the newest with a GIL."""
    order = _sorted(pythons)
    return ([python for python in order if not python.endswith("t")] or order)[-1]


def arguments(projects: Sequence[str]) -> argparse.Namespace:
    """Return the options that the refresh modules share, from the command line."""
    parser = argparse.ArgumentParser(description="Rebuilds a table of compat/ from the published wheels; shows the difference.")
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help=f"read only these, of {', '.join(projects) or 'all in the tables'}")
    parser.add_argument("--compat", type=Path, default=COMPAT, help="the folder of the tables")
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpudoctor" / "wheels"
    parser.add_argument("--cache", type=Path, default=kept, help="the cache folder, kilobytes per wheel")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="write the table and the day of reading")
    choice.add_argument("--check", action="store_true", help="exit with 1 if the table differs")
    return parser.parse_args()


def finish(options: argparse.Namespace, table: Table[Any], rows: Sequence[Any], read: Sequence[str] = (), *, dated: bool = True) -> int:
    """Show, check or write the difference between these rows and the table on disk; return the exit status.

    `read` are the distributions that were read: the others' sources keep their day. () for all. Without `dated` every source keeps it.
    """
    path = options.compat / f"{table.name}.csv"
    before, after = path.read_bytes(), dump_table(table, rows)
    names = (f"a/{path.name}", f"b/{path.name}")
    sys.stdout.writelines(difflib.unified_diff(before.decode().splitlines(True), after.decode().splitlines(True), *names, n=0))
    if options.write:
        path.write_bytes(after)
    if options.write and dated:
        told = [row for row in rows if not read or row.distribution in read]
        _date_sources(options.compat, {name for row in told for name in row.source if name.endswith("-wheels")})
    return 1 if options.check and before != after else 0


def dump_table(table: Table[Row], rows: Iterable[Row]) -> bytes:
    """Return the file that holds these rows, in their order: the inverse of `parse_table`."""
    lines = [table.dump(row) for row in rows]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(_joined(lines) if table.joined else lines)
    return text.getvalue().encode()


def _joined(lines: Iterable[list[str]]) -> list[list[str]]:
    """Return lines that differ in the second cell alone as one line with all its values."""
    values: dict[tuple[str, ...], list[str]] = {}
    for first, second, *rest in lines:
        values.setdefault((first, *rest), []).append(second)
    return [[first, " ".join(seconds), *rest] for (first, *rest), seconds in values.items()]


def _date_sources(compat: Path, read: set[str]) -> None:
    today = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    sources = read_table(str(compat), SOURCE_TABLE)
    dated = [msgspec.structs.replace(source, read=today) if source.id in read else source for source in sources]
    (compat / "sources.csv").write_bytes(dump_table(SOURCE_TABLE, dated))
