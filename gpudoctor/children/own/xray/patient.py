"""One simulated process of the target's interpreter, and a record of the libraries that it opens."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from gpudoctor.children.own.xray.components import component
from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.elf import fatbin, file
from gpudoctor.elf.loader import LoadedObject, Loader, LoaderSetting, Lookup, OpenResult, SearchSource
from gpudoctor.elf.system import CannotLoad, FileTree

BASE = frozenset((
    "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
))  # fmt: skip
"""glibc's libraries, which every process has: their needs are not followed."""
_COMPILERS = frozenset(("libgcc_s.so.1", "libstdc++.so.6"))
"""Not followed where the program runs here and the system's folders are those of another machine's tree."""
MOST_ELSEWHERE = 12


def missing(cause: str, reason: str) -> dict[str, str]:
    """A Missing of the snapshot."""
    return {"type": "missing", "cause": cause, "reason": reason}


class Around:
    """What all frameworks of the environment share."""

    def __init__(self, system: FileTree, disk: Disk, setting: LoaderSetting, program: str) -> None:
        self.system = system
        self.disk = disk
        self.setting = setting
        self.program = program
        self.skipped = BASE if system.is_here else BASE | _COMPILERS
        """The libraries whose needs are not followed."""
        self.mapped: list[str] = []
        """CUDA libraries that are open once Python has started."""
        self._codes: dict[str, dict[str, Any]] = {}

    def code(self, path: str) -> dict[str, Any]:
        """The GpuCode of a file, or why it is missing."""
        if path not in self._codes:
            self._codes[path] = self._read_code(path)
        return self._codes[path]

    def _read_code(self, path: str) -> dict[str, Any]:
        try:
            elf = self.system.elf(path)
            if elf is None:
                return missing("absent", f"{path} does not exist")
            if not elf.sections:
                return missing("absent", f"{path} has no GPU code")
            found = fatbin.read_gpu_code(self.system.place(path), elf.sections)
        except CannotLoad as refused:
            return missing("failed", f"{path}: {refused.reason}")
        except (OSError, file.NotElf) as error:
            return missing("failed", f"{path}: {error}")
        if found.damage:
            return missing("failed", f"{path}: {found.damage}")
        return {"type": "gpu-code", "sass": found.sass, "ptx": found.ptx, "few": found.few}

    def described(self, path: str, soname: str, part: str, *, code: bool = False) -> dict[str, Any]:
        """The LibraryFile of a component."""
        version = self.disk.version(path, part, soname)
        owners = self.disk.owners(path, part)
        said: dict[str, Any] = {"type": "library-file", "path": path, "real": self.disk.real(path)}
        if soname:
            said["soname"] = soname
        if isinstance(version, tuple):
            said["version"] = {"type": "fact", "value": version[0], "where": version[1]}
        else:
            said["version"] = missing("failed" if " and " in version else "absent", version)
        said["owner"] = " or ".join(owners) or missing("absent", f"the owner of {path} is unknown")
        said["owners"] = owners if len(owners) > 1 else []
        if code:
            said["code"] = self.code(path)
        return said


class Patient:
    """A process that imports one framework, as the loader sees it."""

    def __init__(self, around: Around, home: str) -> None:
        """`home` is the folder of the framework's package. Raises CannotLoad if the interpreter cannot be read."""
        self.around = around
        self.loader = Loader(around.system, around.setting)
        self._home = home
        self.uses: dict[str, dict[str, Any]] = {}
        self.broken: dict[str, dict[str, Any]] = {}
        self.unknown = ""
        """Why the loaded libraries are unknown, if the framework's own code could not be followed."""
        self._own: dict[str, bool] = {}
        self.loader.start(around.program)
        for path in around.mapped:
            self.load(path, why="opened while Python starts (sitecustomize or a .pth file)", note=False)

    @property
    def main(self) -> LoadedObject:
        """The interpreter."""
        assert self.loader.main is not None  # noqa: S101 -- start() ended well
        return self.loader.main

    def load(self, path: str, *, why: str = "", note: bool = True) -> OpenResult:
        """Open a file of the framework, or one that it names, by its path; `why` is who asks."""
        opening = self.loader.open(path, self.main, skip=self.around.skipped)
        first = opening.resolutions[0]
        if why and first.found is not None and not first.already:
            first.found.way = SearchSource("", why)
        if note:
            for resolution in opening.resolutions[1:]:
                self.note(resolution, asking="linked", vital=True)
            for lookup in opening.missing:
                self.note_broken(lookup)
        return opening

    def note_broken(self, lookup: Lookup) -> None:
        """Record a file that the framework needs and that cannot be loaded, unless it is CUDA's."""
        if component(lookup.wanted) is None or "/" in lookup.wanted:
            asker = lookup.asked_by.path if lookup.asked_by is not None and lookup.asked_by is not self.main else ""
            for path, refused in lookup.damaged[:1]:
                self.break_off(refused.closed or path, refused.kind, refused.reason, asker)
            if not lookup.damaged:
                searched = "no such file" if "/" in lookup.wanted else "in no folder that the loader searches"
                self.break_off(lookup.wanted, "missing", lookup.problem or searched, asker)

    def lack(self, wanted: str, part: str, asker: str, folder: str) -> None:
        """Record a CUDA library that the framework looks for by a pattern and cannot start without."""
        self.uses[wanted] = {
            "type": "library-use", "component": part, "wanted": wanted, "asked_by": asker, "asking": "opened", "vital": True,
            "file": missing("absent", f"no {wanted} in {folder} or the same folder elsewhere on sys.path"), "looked_in": [folder],
            "elsewhere": nearby(self.around.disk.elsewhere(wanted, "")[:MOST_ELSEWHERE]),
        }  # fmt: skip
        self._own[wanted] = True

    def break_off(self, path: str, kind: str, why: str, asker: str = "", *, instead: str = "") -> None:
        """Record why the framework's import fails; `instead` is a file that would do."""
        path, asker = (os.path.normpath(one) if one else "" for one in (path, asker))
        elsewhere = path.startswith("/") and not path.startswith(f"{self._home}/")
        disk = self.around.disk
        owners = disk.owners(path, "") or disk.owners_by_record(path) if elsewhere else []
        self.broken.setdefault(path, damage(path, kind, why, owners) | {"asked_by": asker, **({"instead": instead} if instead else {})})

    def forget(self) -> None:
        """Clear the record."""
        self.uses.clear()
        self.broken.clear()
        self._own.clear()

    def open(self, wanted: str, caller: LoadedObject, *, vital: bool) -> OpenResult:
        """Open by name, like dlopen."""
        opening = self.loader.open(wanted, caller, skip=self.around.skipped, shadows=True)
        self.note(opening.resolutions[0], asking="opened", vital=vital)
        for resolution in opening.resolutions[1:]:
            self.note(resolution, asking="linked", vital=vital)
        return opening

    def note(self, lookup: Lookup, *, asking: str, vital: bool) -> None:
        """Record the result of a lookup, if it is for a CUDA library; the framework's own lookups outrank others'."""
        part = component(lookup.wanted)
        if part is None or "/" in lookup.wanted:
            return
        own = lookup.asked_by is not None and lookup.asked_by.path.startswith(f"{self._home}/")
        if lookup.wanted in self.uses and (self._own[lookup.wanted] or not own):
            return
        self._own[lookup.wanted] = own
        self.uses[lookup.wanted] = self._use(lookup, part, asking, vital=vital)

    def _use(self, lookup: Lookup, part: str, asking: str, *, vital: bool) -> dict[str, Any]:
        said: dict[str, Any] = {
            "type": "library-use",
            "component": part,
            "wanted": lookup.wanted,
            "asked_by": lookup.asked_by.path if lookup.asked_by else self.around.program,
            "asking": asking,
            "vital": vital,
        }
        if lookup.found is not None:
            said["file"] = self.around.described(
                lookup.found.path, lookup.found.elf.soname, part, code=lookup.wanted.startswith(_CUDNN_WITH_CODE)
            )
            said["why"] = lookup.way.words
            said.update({"found_by": lookup.way.by} if lookup.way.by else {})
        else:
            damaged = [self._damage(path, refused, part) for path, refused in lookup.damaged]
            reason = lookup.problem or f"{lookup.wanted} is in none of the searched places"
            said["file"] = missing("failed" if damaged else "absent", f"{damaged[0]['path']}: {damaged[0]['why']}" if damaged else reason)
            said["looked_in"] = lookup.looked_in
            said["damaged"] = damaged
        said["shadows"] = places((path, way.words, way.by) for path, way in lookup.shadows)
        said["refused"] = places((path, why, "") for path, why in lookup.refused)
        taken = lookup.found.path if lookup.found else ""
        noted = {path for path, _ in lookup.shadows}
        others = [place for place in self.around.disk.elsewhere(lookup.wanted, taken) if place[0] not in noted]
        said["elsewhere"] = nearby(others[:MOST_ELSEWHERE])
        return said

    def _damage(self, path: str, refused: CannotLoad, part: str) -> dict[str, Any]:
        return damage(refused.closed or path, refused.kind, refused.reason, self.around.disk.owners(path, part))


def damage(path: str, kind: str, why: str, owners: list[str]) -> dict[str, Any]:
    """A Damage of the snapshot."""
    several = owners if len(owners) > 1 else []
    return {"type": "damage", "path": path, "kind": kind, "why": why, "owner": " or ".join(owners), "owners": several}


_CUDNN_WITH_CODE = ("libcudnn_ops", "libcudnn_cnn")
"""The part of cuDNN that determines which GPUs it supports: its precompiled engines have code that the rest no longer calls."""


def places(found: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    """As Place structs: a path, why, and the FoundBy value if there is one."""
    return [{"type": "place", "path": path, "why": why, **({"found_by": by} if by else {})} for path, why, by in found]


def nearby(found: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """As Place structs: paths on disk, each with its folder's owner."""
    return places((path, kind, kind if kind == "wheel" else "") for path, kind in found)
