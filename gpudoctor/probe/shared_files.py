"""Distributions that own the same files: each installation overwrites the other's, and a removal deletes what the other needs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain

import msgspec

from gpudoctor.frameworks import NVIDIA_PACKAGES, framework_of
from gpudoctor.probe import files
from gpudoctor.probe.missing_requirements import PathEntry
from gpudoctor.snapshot import OverwrittenPackage, printable_text

_HEAD = 4096
"""Bytes of a RECORD; they show the import packages of a wheel."""
_MOST_RECORD = 8 << 20
_MODULES = (".py", ".so")
_MOST_HASHED = 256 << 10
"""Bytes of a file."""


class _Owner(msgspec.Struct, frozen=True):
    """A distribution and its metadata."""

    name: str
    place: PathEntry

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.place.version}"

    def recorded(self, limit: int) -> Iterator[tuple[str, str, str]]:
        """The path, hash and size of each module in the folders that it installs."""
        for line in files.lines_or_empty(f"{self.place.folder}/{self.place.entry}/RECORD", limit=limit):
            path, _, rest = line.partition(",")
            if path.endswith(_MODULES) and "/" in path and not path.startswith(("/", "../", '"')):
                digest, _, size = rest.partition(",")
                yield path, digest, size


class Shared(msgspec.Struct, frozen=True):
    """What the RECORDs of distributions show."""

    overwritten: tuple[OverwrittenPackage, ...] = ()
    emptied: tuple[str, ...] = ()
    """The distributions without the __init__.py of their package, as name==version; frameworks and what they require are looked at elsewhere."""


def shared(metadata: Mapping[str, list[PathEntry]], matters: Callable[[str], bool]) -> Shared:
    """What is wrong with files of the distributions, whose `metadata` is by name.

    Those that matter to a GPU are compared with one another, and others whose names have the same first word: opencv-python and opencv-python-headless.
    """
    same_word = Counter(map(_beginning, metadata))
    owners = [
        _Owner(name, places[0])
        for name, places in metadata.items()
        if (matters(name) or same_word[_beginning(name)] > 1) and not name.startswith(NVIDIA_PACKAGES)
    ]
    together: dict[tuple[str, str], list[_Owner]] = {}
    emptied = []
    for owner in owners:
        paths = [path for path, _, _ in owner.recorded(_HEAD)]
        for package in {path.partition("/")[0] for path in paths}:
            together.setdefault((owner.place.folder, package), []).append(owner)
        starts = [f"{owner.place.folder}/{path}" for path in paths if path.count("/") == 1 and path.endswith("/__init__.py")]
        if starts and not framework_of(owner.name) and not any(map(os.path.exists, starts)):
            emptied.append(owner.pin)
    groups = {tuple(group): package for (_, package), group in reversed(together.items()) if len(group) > 1}
    found = (_group(package, group) for group, package in groups.items())
    return Shared(tuple(one for one in found if one is not None), tuple(map(printable_text, emptied)))


def _beginning(name: str) -> str:
    return name.partition("-")[0]


def _group(package: str, owners: tuple[_Owner, ...]) -> OverwrittenPackage | None:
    """The distributions that share most of their modules in a folder of sys.path; None if fewer than two do."""
    all_stated = [
        {path: (digest, size) for path, digest, size in owner.recorded(_MOST_RECORD) if path.startswith(f"{package}/")} for owner in owners
    ]
    counts = Counter(chain.from_iterable(all_stated))
    having = [number for number, stated in enumerate(all_stated) if 2 * sum(counts[path] > 1 for path in stated) > len(stated)]
    common = Counter(chain.from_iterable(all_stated[number] for number in having))
    paths = [path for path, count in common.items() if count > 1]
    if not paths:
        return None
    folder = owners[0].place.folder
    origins = [_owner_number(f"{folder}/{path}", [all_stated[number].get(path, ("", "")) for number in having]) for path in paths]
    return OverwrittenPackage(
        package=printable_text(package),
        owners=tuple(printable_text(owners[number].pin) for number in having),
        where=printable_text(folder),
        files=len(paths),
        owned_now=tuple(sum(found == number for found in origins) for number in range(len(having))),
    )


def _owner_number(path: str, stated: list[tuple[str, str]]) -> int | None:
    """Which of several distributions installed a file, by its number; None if they own an equal one, or it is none of theirs."""
    try:
        size = str(os.stat(path).st_size)
    except (OSError, ValueError):
        return None
    fitting = [number for number, (_, of_size) in enumerate(stated) if of_size == size]
    if len({stated[number] for number in fitting}) > 1 and int(size) <= _MOST_HASHED:
        digest = _digest(path)
        fitting = [number for number in fitting if stated[number][0] == digest]
    return fitting[0] if len(fitting) == 1 else None


def _digest(path: str) -> str:
    """The hash of a file as RECORD has it."""
    import base64  # noqa: PLC0415 -- only where two distributions own files of one size
    import hashlib  # noqa: PLC0415

    data = files.read_bytes(path, limit=_MOST_HASHED)
    return f"sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')}" if isinstance(data, bytes) else ""
