"""Values of msgspec's types from JSON and other data. Signals wait meanwhile.

msgspec 0.22 looks at a type on its first use, with Python code in between. It crashes where a signal's exception ends that, at once or on the next use.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_WAITING_SIGNALS = tuple(number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)))

_KNOWN_TYPES: set[type] = set()
"""Structs that msgspec has looked at; it keeps what it saw of these."""


@contextmanager
def _signals_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def convert_value(value: object, kind: type[T], *, strict: bool = True) -> T:
    """Return a value as one of a type. Raises msgspec.ValidationError."""
    if kind in _KNOWN_TYPES:
        return msgspec.convert(value, kind, strict=strict)
    with _signals_blocked():
        found = msgspec.convert(value, kind, strict=strict)
    if isinstance(found, msgspec.Struct) and type(found) is kind:
        _KNOWN_TYPES.add(kind)
    return found


def from_json(data: bytes | str, kind: type[T]) -> T:
    """Return a value of a type from JSON. Raises msgspec.MsgspecError, and UnicodeDecodeError or RecursionError."""
    with _signals_blocked():
        return msgspec.json.decode(data, type=kind)


def json_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Return what decodes JSON of a type, which may be a union."""
    with _signals_blocked():
        return msgspec.json.Decoder(kind)


def require_bounded(value: T) -> T:
    """Return a value that others wrote. Raises OverflowError if an integer in it has more than 64 bits: division makes no float of some."""
    try:
        msgspec.msgpack.encode(value)
    except OverflowError:
        raise OverflowError("a number in it has more than 64 bits") from None
    return value


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """Return what decodes MessagePack of a type."""
    with _signals_blocked():
        return msgspec.msgpack.Decoder(kind)
