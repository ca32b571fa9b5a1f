"""What the simulated loader sees of the file system, and what a machine's real loader was built with."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Protocol

from gpudoctor.elf import file
from gpudoctor.elf.cache import MAX_CACHE_BYTES, Cache

_LOADER_BYTES = 2 << 20
"""An ld.so has a quarter of that."""


class CannotLoad(Exception):  # noqa: N818 -- an answer
    """The loader cannot load a file. `fatal`: it then gives up; `ends_list`: it skips the remaining subfolders of the same place.

    `kind` is a word of the snapshot's DamageKind.
    """

    def __init__(self, reason: str, kind: str = "unreadable", *, fatal: bool = False, ends_list: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.fatal = fatal
        self.ends_list = ends_list
        self.closed = ""
        """The file or the folder above it that this user may not open; empty if that is not the reason."""


def closed_folder(path: str) -> str:
    """The uppermost folder above a path that this user may not enter; the path itself if there is none."""
    path, outer = os.path.normpath(path), []
    folder = path
    while len(folder) > 1:
        folder = os.path.dirname(folder)
        outer.append(folder)
    return next((folder for folder in reversed(outer) if os.path.isdir(folder) and not os.access(folder, os.X_OK)), path)


class FileSystem(Protocol):
    """The file system as the loader sees it."""

    def elf(self, path: str) -> file.Elf | None:
        """The library at `path`; None if there is none. Raises CannotLoad."""

    def is_folder(self, path: str) -> bool:
        """Whether `path` is a folder, links followed."""


class FileTree:
    """The file system below a root; every path is looked at once."""

    def __init__(self, root: str = "/", live: Iterable[str] = ()) -> None:
        """`live` are files and folders that are not below `root`: an environment examined beside another machine's tree."""
        self._root = root.rstrip("/")
        self._live = tuple(f"{path.rstrip('/')}/" for path in live) if self._root else ()
        self._known: dict[str, file.Elf | CannotLoad | None] = {}
        self._folders: dict[str, bool] = {}
        self._real: dict[str, str] = {}
        self._noexec: dict[str, bool] = {}

    @property
    def is_here(self) -> bool:
        """Whether it is this machine's own tree."""
        return not self._root

    def place(self, path: str) -> str:
        """Our own path of `path`."""
        return path if self._live and f"{path}/".startswith(self._live) else self._root + path

    def real(self, path: str) -> str:
        """`path` with its links resolved, as seen from inside the root."""
        if path not in self._real:
            self._real[path] = self._resolve(path)
        return self._real[path]

    def _resolve(self, path: str) -> str:
        place = self.place(path)
        found = os.path.realpath(place)
        if place == path:
            return found
        top = os.path.realpath(self._root)
        return found[len(top) :] if found.startswith(f"{top}/") else path

    def elf(self, path: str) -> file.Elf | None:
        """As in FileSystem."""
        if path not in self._known:
            self._known[path] = self._read_library(path)
        known = self._known[path]
        if isinstance(known, CannotLoad):
            raise known
        return known

    def _read_library(self, path: str) -> file.Elf | CannotLoad | None:
        place = self.place(path)
        try:
            found = file.read_elf_file(place, code=True)
        except file.NotElf as reason:
            return CannotLoad(reason.reason, reason.kind, fatal=reason.fatal)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR}:
                dangles = os.path.islink(place)
                return CannotLoad(f"a link to {os.readlink(place)}, which does not exist", "dangling-link") if dangles else None
            refused = CannotLoad(error.strerror or str(error), ends_list=error.errno != errno.EACCES)
            refused.closed = closed_folder(place)[len(place) - len(path) :] if error.errno == errno.EACCES else ""
            return refused
        except ValueError:  # a zero byte in the name
            return None
        if place == path and self._is_noexec(path.rpartition("/")[0] or "/"):
            return CannotLoad("on a file system that is mounted noexec", "noexec", fatal=True)
        found.path = path
        return found

    def _is_noexec(self, folder: str) -> bool:
        """Whether nothing in `folder` can be mapped as code; False for another machine's tree, whose mount options are unknown."""
        if folder not in self._noexec:
            try:
                self._noexec[folder] = bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)
            except OSError:
                self._noexec[folder] = False
        return self._noexec[folder]

    def is_folder(self, path: str) -> bool:
        """As in FileSystem."""
        if path not in self._folders:
            try:
                self._folders[path] = os.path.isdir(self.place(path))
            except ValueError:
                self._folders[path] = False
        return self._folders[path]

    def cache(self, machine: str, bits: int) -> Cache:
        """/etc/ld.so.cache; an empty one if it cannot be read."""
        try:
            return Cache(self._start("/etc/ld.so.cache", MAX_CACHE_BYTES), machine, bits)
        except OSError:  # the loader does without it too
            return Cache()

    def defaults(self, interpreter: str, machine: str, bits: int) -> tuple[str, ...]:
        """The folders built into the loader at `interpreter`, which holds them as text: "/lib64/", a zero byte, "/usr/lib64/", and so on."""
        try:
            built_in = _built_in_folders(self._start(interpreter, _LOADER_BYTES)) if interpreter else ()
        except (OSError, ValueError):
            built_in = ()
        if built_in:
            return built_in
        wide = ("/lib64", "/usr/lib64") if bits == 64 else ()
        return (f"/lib/{machine}-linux-gnu", f"/usr/lib/{machine}-linux-gnu", *wide, "/lib", "/usr/lib")

    def _start(self, path: str, limit: int) -> bytes:
        descriptor = os.open(self.place(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(descriptor, limit)
        finally:
            os.close(descriptor)


def _built_in_folders(data: bytes) -> tuple[str, ...]:
    place = data.find(b"/\0/usr/lib")
    if place < 0:
        return ()
    start = data.rfind(b"\0", 0, place) + 1
    found = []
    for part in data[start : start + 1024].split(b"\0"):
        if not (part.startswith(b"/") and part.endswith(b"/")):
            break
        found.append(os.fsdecode(part[:-1]))
    return tuple(found)
