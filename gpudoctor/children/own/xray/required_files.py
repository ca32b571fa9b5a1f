"""The files of the packages that a framework requires, at any depth: those that are gone, by the RECORD of each, and packages that are absent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.frameworks import NVIDIA_PACKAGES

RECORD_BYTES = 8 << 20
_METADATA_BYTES = 32 << 10
_ENDING = re.compile(r"\.(?:py|so(?:\.\d[\d.]*)?),[^,\n]*,(\d{0,18})\r?(?:\n|$)", re.ASCII)
"""How the line of a module, an extension module or a library beside them ends, with its size."""
_REQUIRED = re.compile(r"^Requires-Dist:[ \t]*([\w.-]+)([^\n;]*)(;?[^\n]*)", re.MULTILINE)
_OF_A_PYTHON = re.compile(r"\.cpython-3(\d+)[^.]*\.so$")
_PYTHON = re.compile(r"/python3\.(\d+)$")
GONE = ("missing", "its package's RECORD lists it")

DamageWords = tuple[str, str]
"""A kind of damage and its words."""


class Required:
    """What one framework requires; the X-ray looks for NVIDIA's files itself."""

    def __init__(self, disk: Disk, distributions: tuple[str, ...]) -> None:
        """`distributions` are those of the framework, whose own files are looked at elsewhere."""
        self._disk = disk
        self._own = distributions
        self._records: dict[str, str] = {}
        """By distribution: its RECORD."""
        self.absent: dict[str, str] = {}
        """By distribution that is not installed: the one that requires it, which is no framework."""
        self._find()

    @cached_property
    def lost(self) -> dict[str, DamageWords]:
        """What no import can use of these packages' files, by path."""
        return {path: problem for name in self._records for path, problem in self._lost_of(name)}

    @cached_property
    def owners(self) -> dict[str, str]:
        """The distribution of each file, by path; only wanted where something is lost."""
        return {path: name for name in self._records for path in self._paths(name)}

    @cached_property
    def modules(self) -> dict[str, str]:
        """The file of each module; of two the first counts."""
        found: dict[str, str] = {}
        for name in self._records:
            site = self._site(name)
            for path in self._paths(name):
                found.setdefault(module(path[len(site) + 1 :]), path)
        return found

    def unlinked(self, path: str) -> str:
        """The lost library that an extension module links; empty if it links none."""
        lost = self._lost_libraries
        return next((lost[name] for name in self._disk.needed(path) if name in lost), "") if lost else ""

    @cached_property
    def _lost_libraries(self) -> dict[str, str]:
        return {path.rpartition("/")[2]: path for path in self.lost if ".so" in path}

    def _find(self) -> None:
        """Follow the requirements through the metadata of installed packages; of two copies the first on sys.path counts."""
        metadata: dict[str, str] = {}
        others: set[str] = set()
        for site in self._disk.path:
            for entry in self._disk.names(site):
                stem, info, _ = entry.partition(".dist-info")
                if info:
                    metadata.setdefault(normal_name(stem.rpartition("-")[0]), f"{site}/{entry}")
                else:
                    others.add(normal_name(entry.partition("-" if entry.endswith(".egg-info") else ".")[0]))
        waiting = [name for name in self._own if name in metadata]
        seen = set(waiting)
        while waiting:
            by = waiting.pop()
            if by not in self._own:
                self._records[by] = f"{metadata[by]}/RECORD"
            for name, conditional in self._requirements(metadata[by]):
                if name in metadata and name not in seen:
                    waiting.append(name)
                elif name not in metadata and name not in others and not conditional and by not in self._own:
                    self.absent.setdefault(name, by)
                seen.add(name)

    def _requirements(self, metadata: str) -> Iterator[tuple[str, bool]]:
        """The distributions that one requires, and whether a condition is attached; an extra is a choice."""
        head = self._disk.text(f"{metadata}/METADATA", _METADATA_BYTES).partition("\n\n")[0]
        for found in _REQUIRED.finditer(head):
            name = normal_name(found[1])
            if "extra" not in found[3] and not name.startswith(NVIDIA_PACKAGES):
                yield name, bool(found[3])

    def _files(self, name: str) -> list[tuple[str, str]]:
        return recorded_files(self._disk.text(self._records[name], RECORD_BYTES))

    def _site(self, name: str) -> str:
        return self._records[name].rsplit("/", 2)[0]

    def _paths(self, name: str) -> Iterator[str]:
        site = self._site(name)
        return (f"{site}/{path}" for path, _ in self._files(name))

    def _lost_of(self, name: str) -> Iterator[tuple[str, DamageWords]]:
        site = self._site(name)
        folders: dict[str, list[tuple[str, str]]] = {}
        for path, size in self._files(name):
            folder, _, file = path.rpartition("/")
            folders.setdefault(folder, []).append((file, size))
        for folder, files in folders.items():
            place = f"{site}/{folder}" if folder else site
            there = frozenset(self._disk.names(place))
            for file, size in files:
                problem = self._problem(place, file, size, there)
                if problem and self._is_imported_from(site, folder or file):
                    yield f"{place}/{file}", problem

    def _problem(self, folder: str, file: str, size: str, there: frozenset[str]) -> DamageWords | None:
        if file in there:
            python = _OF_A_PYTHON.search(file)
            foreign = python is not None and self._python not in {"", python[1]}
            return ("another-python", f"compiled for Python 3.{python[1]}") if python and foreign else None
        empty_start = file == "__init__.py" and size == "0" and there  # a folder without it is a package too
        if empty_start or f"{file[:-3]}.pyc" in there or self._is_closed(folder):
            return None
        return GONE

    def _is_closed(self, folder: str) -> bool:
        problem = self._disk.problem(folder)
        return problem is not None and problem[1] == "unreadable"

    @cached_property
    def _python(self) -> str:
        """The minor version of the examined Python, by the folder of its standard library; empty if unknown."""
        return next((found[1] for folder in self._disk.path if (found := _PYTHON.search(folder))), "")

    def _is_imported_from(self, site: str, path: str) -> bool:
        """Whether no folder before this one has a package of that name, without metadata."""
        top = path.partition("/")[0].partition(".")[0]
        having = (folder for folder in self._disk.path if any(entry.partition(".")[0] == top for entry in self._disk.names(folder)))
        return next(having, site) == site


def recorded_files(record: str) -> list[tuple[str, str]]:
    """The modules, extension modules and libraries that a RECORD lists below its folder, each with its size."""
    found = []
    for ending in _ENDING.finditer(record):  # of the lines of a large wheel, one in ten; a pattern for whole lines takes five times as long
        path = record[record.rfind("\n", 0, ending.start()) + 1 : ending.start(0)] + ending[0].partition(",")[0]
        if not path.startswith(("/", "../", '"')):
            found.append((path, ending[1]))
    return found


def normal_name(name: str) -> str:
    """Return the name of a distribution as installers compare it."""
    return name.replace("_", "-").replace(".", "-").lower()


def module(path: str) -> str:
    """The module that a file of a package is: torch/nn/__init__.py is torch.nn, torch/_C.cpython-311-x86_64-linux-gnu.so is torch._C."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return (folder if stem == "__init__" else f"{folder}/{stem}".lstrip("/")).replace("/", ".")
