"""The difference of two JSON documents without nulls, as one flat object: JSON pointer to value; null removes the old value.

The changes apply in their order. Indices count in the old list: longer lists grow at their end, shorter ones lose their last items.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

Changes = dict[str, Any]


def size(document: object) -> int:
    """Return how many bytes a document takes without spaces."""
    return len(msgspec.json.encode(document))


def difference(old: Any, new: Any, pointer: str = "") -> Changes:
    """Return the changes that turn `old` into `new`; a part is replaced whole if that takes no more bytes."""
    if type(old) is not type(new) or not isinstance(old, dict | list):
        return {} if type(old) is type(new) and old == new else {pointer: new}
    changes = dict(_by_key(old, new, pointer) if isinstance(old, dict) else _by_index(old, new, pointer))
    whole = {pointer: new}
    return changes if not pointer or size(changes) < size(whole) else whole


def _by_key(old: dict[str, Any], new: dict[str, Any], pointer: str) -> Iterator[tuple[str, Any]]:
    for key, value in new.items():
        place = f"{pointer}/{_escaped(key)}"
        yield from difference(old[key], value, place).items() if key in old else [(place, value)]
    for key in old:
        if key not in new:
            yield f"{pointer}/{_escaped(key)}", None


def _by_index(old: list[Any], new: list[Any], pointer: str) -> Iterator[tuple[str, Any]]:
    for index, value in enumerate(new):
        place = f"{pointer}/{index}"
        yield from difference(old[index], value, place).items() if index < len(old) else [(place, value)]
    for index in reversed(range(len(new), len(old))):
        yield f"{pointer}/{index}", None


def apply(changes: Mapping[str, Any], document: Any) -> None:
    """Change a document in place."""
    for pointer, value in changes.items():
        *parents, last = map(_plain, pointer.split("/")[1:])
        place = document
        for key in parents:
            place = place[int(key) if isinstance(place, list) else key]
        if isinstance(place, list):
            index = int(last)
            place[index : index + 1] = [] if value is None else [value]
        elif value is None:
            del place[last]
        else:
            place[last] = value


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _plain(key: str) -> str:
    return key.replace("~1", "/").replace("~0", "~")
