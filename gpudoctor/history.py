"""A file that remembers which finding was seen on which node, and when: SQLite, no server."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import msgspec

from gpudoctor.errors import OutputError, UsageError
from gpudoctor.report.fleet import Fleet, Sighting
from gpudoctor.report.hostlist import nodes_of_names
from gpudoctor.sqlite import sqlite3

_APPLICATION_ID = 0x67706475
"""Marks the file as ours: https://www.sqlite.org/pragma.html#pragma_application_id"""
_SCHEMA_VERSION = 1
_CREATE_TABLES = """
CREATE TABLE report(node TEXT, created TEXT, PRIMARY KEY(node, created)) WITHOUT ROWID;
CREATE TABLE seen(node TEXT, code TEXT, name TEXT, severity TEXT, first TEXT, last TEXT, reports INTEGER, PRIMARY KEY(node, code)) WITHOUT ROWID;
"""
_INSERT_SEEN = """
INSERT INTO seen VALUES (?, ?, ?, ?, ?5, ?5, 1) ON CONFLICT(node, code) DO UPDATE SET
    name = iif(excluded.last >= last, excluded.name, name), severity = iif(excluded.last >= last, excluded.severity, severity),
    first = min(first, excluded.first), last = max(last, excluded.last), reports = reports + 1
"""
_SELECT_ALL = """
SELECT seen.code, seen.name, seen.severity, seen.node, seen.first, seen.last, seen.reports, seen.last >= latest.created
FROM seen JOIN (SELECT node, max(created) AS created FROM report GROUP BY node) AS latest ON seen.node = latest.node
"""
HistoryRow = tuple[str, str, str, str, str, str, int, int]


class History:
    """The file, open for one merge. Leaving the context writes everything, or nothing after an error."""

    def __init__(self, path: str) -> None:
        if os.path.islink(path):  # noqa: PTH114 -- pathlib raises OSError for a name that is too long
            raise UsageError(f"--history: {path} is a symbolic link and would not be followed; name the file itself.")
        self._path = path
        self._file = _open_history(path)

    def __enter__(self) -> History:  # noqa: PYI034 -- typing.Self is newer than Python 3.10
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            (self._file.rollback if kind else self._file.commit)()
        except sqlite3.Error as failure:
            raise OutputError(f"The history {self._path} could not be written: {failure}.") from None
        finally:
            self._file.close()

    def add(self, node: str, created: str, causes: Iterable[tuple[str, str, str]]) -> None:
        """Add one report: code, name and severity of each root cause. One that was added before changes nothing."""
        try:
            new = self._file.execute("INSERT OR IGNORE INTO report VALUES (?, ?)", (node, created)).rowcount
            if new:
                self._file.executemany(_INSERT_SEEN, [(node, *cause, created) for cause in dict.fromkeys(causes)])
        except sqlite3.Error as failure:
            raise OutputError(f"The history {self._path} could not be written: {failure}.") from None

    def told(self, fleet: Fleet) -> Fleet:
        """Return the fleet with its history: first where and since when each finding is there, then what is gone."""
        groups: dict[tuple[str, bool], list[HistoryRow]] = defaultdict(list)
        for row in self._file.execute(_SELECT_ALL):
            groups[row[0], bool(row[7])].append(row)
        made = (_sighting(rows, present=present) for (_, present), rows in groups.items())
        return msgspec.structs.replace(fleet, history=tuple(sorted(made, key=lambda one: (not one.present, one.first, one.code))))


def _open_history(path: str) -> sqlite3.Connection:
    """Return the open file, new or of an earlier merge. Raises UsageError for any other file."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        file = sqlite3.connect(path, timeout=30, isolation_level="IMMEDIATE")
        mark, version = (file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if (mark, version) == (0, 0) and Path(path).stat().st_size == 0:
            file.executescript(
                f"BEGIN IMMEDIATE; PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {_SCHEMA_VERSION}; {_CREATE_TABLES} COMMIT;"
            )
        elif (mark, version) != (_APPLICATION_ID, _SCHEMA_VERSION):
            raise UsageError(f"--history: {path} is not a history that this gpudoctor wrote; name another file.")
    except OSError as error:
        raise UsageError(f"--history: {path} cannot be opened: {error.strerror}.") from None
    except sqlite3.Error as error:
        raise UsageError(f"--history: {path} is not a history of gpudoctor ({error}); name another file.") from None
    return file


def _sighting(rows: list[HistoryRow], *, present: bool) -> Sighting:
    names = [row[3] for row in rows]
    code, name, severity = max(rows, key=lambda row: row[5])[:3]
    return Sighting(
        code=code,
        name=name,
        severity=severity,
        present=present,
        nodes=nodes_of_names(names),
        first=min(row[4] for row in rows),
        last=max(row[5] for row in rows),
        reports=sum(row[6] for row in rows),
    )
