"""Keeps structs outside the memory: in a temporary database of SQLite that nobody else sees and that ends with the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

import msgspec

from gpudoctor.errors import OutputError, UsageError

T = TypeVar("T", bound=msgspec.Struct)
_CACHE: Final = 4096
"""KiB in memory; only more than that makes a file."""


class Shelf(Generic[T]):
    """Structs by a key, in the order of their keys."""

    def __init__(self, kind: type[T]) -> None:
        try:
            import sqlite3  # noqa: PLC0415 -- some Pythons are built without it
        except ModuleNotFoundError:
            raise UsageError("This Python was built without SQLite, which this command needs; run gpudoctor with another Python.") from None
        self._decoder, self._encoder, self._size = msgspec.msgpack.Decoder(kind), msgspec.msgpack.Encoder(), 0
        self._failure = sqlite3.Error
        self._file = sqlite3.connect("", isolation_level=None)  # https://www.sqlite.org/inmemorydb.html#temp_db
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE}"):
            self._file.execute(f"PRAGMA {setting}")
        self._file.execute("CREATE TABLE held(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return (self._decoder.decode(value) for (value,) in self._file.execute("SELECT value FROM held ORDER BY key"))

    def get(self, key: str) -> T:
        """Return what is there under a key. Raises KeyError if nothing is."""
        found = self._file.execute("SELECT value FROM held WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise KeyError(key)
        return self._decoder.decode(found[0])

    def add(self, key: str, value: T) -> bool:
        """Put something under a key unless something is there; return whether it was put."""
        is_new = self._write("INSERT OR IGNORE", key, value)
        self._size += is_new
        return is_new

    def replace(self, key: str, value: T) -> None:
        """Put something in the place of what is there."""
        self._write("REPLACE", key, value)

    def _write(self, how: str, key: str, value: T) -> bool:
        try:
            return self._file.execute(f"{how} INTO held VALUES (?, ?)", (key, self._encoder.encode(value))).rowcount > 0
        except self._failure as error:
            raise OutputError(f"A temporary file cannot be written: {error}; set TMPDIR to a folder with free space.") from None
