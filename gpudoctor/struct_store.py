"""Keeps structs outside the memory: in a temporary database of SQLite that nobody else sees and that ends with the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Generic, TypeVar

import msgspec

from gpudoctor.errors import OutputError
from gpudoctor.sqlite import sqlite3
from gpudoctor.typed_values import msgpack_decoder

T = TypeVar("T", bound=msgspec.Struct)
_CACHE_KIB: Final = 2048
"""KiB in memory; only more than that makes a file."""


class StructStore(Generic[T]):
    """Structs by number. Those with a name have a key as well, by which they are found and sorted."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder, self._encoder, self._size = msgpack_decoder(kind), msgspec.msgpack.Encoder(), 0
        self._failure = sqlite3.Error
        self._file = sqlite3.connect("", isolation_level=None)  # https://www.sqlite.org/inmemorydb.html#temp_db
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            self._file.execute(f"PRAGMA {setting}")
        self._file.execute("CREATE TABLE held(number INTEGER PRIMARY KEY, key TEXT, name TEXT, value BLOB)")
        self._file.execute("CREATE UNIQUE INDEX in_order ON held(key, name)")

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[T]:
        return self._read("SELECT value FROM held ORDER BY number")

    def in_order(self) -> Iterator[T]:
        """Yield them in the order of their keys."""
        return self._read("SELECT value FROM held ORDER BY key")

    def names(self) -> Iterator[tuple[int, str]]:
        """Yield the number and name of each in the order of their keys."""
        return self._file.execute("SELECT number, name FROM held ORDER BY key, name")

    def numbers(self) -> Iterator[int]:
        """Yield the numbers in order."""
        return (number for (number,) in self._file.execute("SELECT number FROM held ORDER BY number"))

    def at(self, number: int) -> T:
        """Return the struct with a number. Raises KeyError if there is none."""
        return self._one("SELECT value FROM held WHERE number = ?", number)

    def get(self, key: str) -> T:
        """Return the struct with a key. Raises KeyError if there is none."""
        return self._one("SELECT value FROM held WHERE key = ?", key)

    def add(self, number: int, value: T, *, key: str | None = None, name: str = "") -> bool:
        """Put a struct under a number unless its key is there; return whether it was put."""
        try:
            put = self._file.execute(
                "INSERT OR IGNORE INTO held VALUES (?, ?, ?, ?)", (number, key, name, self._encoder.encode(value))
            ).rowcount
        except self._failure as error:
            raise OutputError(f"A temporary file cannot be written: {error}; set TMPDIR to a folder with free space.") from None
        self._size += put
        return put > 0

    def remove(self, number: int) -> None:
        """Remove the struct with a number."""
        self._size -= self._file.execute("DELETE FROM held WHERE number = ?", (number,)).rowcount

    def _read(self, query: str, *values: Any) -> Iterator[T]:
        return (self._decoder.decode(value) for (value,) in self._file.execute(query, values))

    def _one(self, query: str, value: int | str) -> T:
        for found in self._read(query, value):
            return found
        raise KeyError(value)
