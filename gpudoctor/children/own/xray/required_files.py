"""The files of the packages that a framework requires, at any depth: those that are gone, by the RECORD of each, and packages that are absent."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from gpudoctor.children.own.xray.disk import ZEROS, Disk
from gpudoctor.frameworks import NVIDIA_PACKAGES

RECORD_BYTES = 8 << 20
_METADATA_BYTES = 32 << 10
_RECORD_LINE = re.compile(r"\.(?:py|so(?:\.\d[\d.]*)?),[^,\n]*,(\d{0,18})\r?(?:\n|$)", re.ASCII)
"""How the line of a module, an extension module or a library beside them ends, with its size."""
_REQUIREMENT_LINE = re.compile(r"^Requires-Dist:[ \t]*([\w.-]+)([^\n;]*)(;?[^\n]*)", re.MULTILINE)
_PYTHON_OF_MODULE = re.compile(r"\.cpython-3(\d+)[^.]*\.so$")
_CLAUSE = re.compile(r"(>=|<=|==|<|>)[ \t]*(\d+(?:\.\d+)*)(?![.\d*a-z])")
"""One condition on a version, in plain numbers."""
_STANDARD = re.compile(r"/python3\.\d+(?:/lib-dynload)?$")
"""The folders of Python's own modules."""
_STARTS = re.compile(r"[^/]+\.py|[^/]+/__init__\.py")
"""What the import of a package begins with."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_FOR_NUMPY_1 = (b"numpy.core._multiarray_umath", b"numpy.core.multiarray failed to import")
_FOR_NUMPY_2 = b"numpy._core"
"""Modules that NumPy's headers put into what is compiled with them: since NumPy 2 that is imported first. What is compiled with it runs with NumPy 1, too."""
_NAMES_NUMPY_2 = re.compile(r"[<>=~][ \t]*[2-9]")
_FEW_MODULES = 2
_MOST_SEARCHED = 16 << 20
"""Bytes of an extension module."""
_OF_A_MACHINE = re.compile(r"\.cpython-\d+-(\w+)-linux-\w+\.so$")
_OLDEST_SYNTAX = 7
"""Python 3.6 lets async be a name."""
GONE = ("missing", "its package's RECORD lists it")

DamageWords = tuple[str, str]
"""A kind of damage and its words."""


class Refusal(NamedTuple):
    """An installed distribution of a version that another one does not accept."""

    pin: str
    """typing-extensions==4.0.1."""
    requirement: str
    """typing-extensions>=4.10.0."""
    by: str
    """The distribution that states this, as name==version."""


class Required:
    """What one framework requires; the X-ray looks for NVIDIA's files itself."""

    def __init__(self, disk: Disk, distributions: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        """`distributions` are those of the framework, whose own files are looked at elsewhere; it imports the `optional` ones if they are installed."""
        self._disk = disk
        self._own = distributions
        self.optional = optional
        self._records: dict[str, str] = {}
        """By distribution: its RECORD."""
        self._installed_at = 0.0
        """When the distribution that is looked at was installed."""
        self.thorough = False
        """Whether every file is read, as one is filled with zeros."""
        self.absent: dict[str, str] = {}
        """By distribution that is not installed: the one that requires it, which is no framework."""
        self.refused: dict[str, Refusal] = {}
        """By distribution: why its version is not accepted."""
        self._listed: dict[str, list[tuple[str, str]]] = {}
        self._using_numpy: set[str] = set()
        self._knowing_numpy_2: set[str] = set()
        """Those of them whose metadata names a NumPy from 2 on: they are compiled for it."""
        self._against_numpy: set[str] = set()
        self._numpy = ""
        self._find()

    @cached_property
    def for_numpy_1(self) -> frozenset[str]:
        """The extension modules that only run with NumPy 1, if the installed one is newer: of distributions with few, and of those that are refused."""
        if not self._numpy.isdecimal() or int(self._numpy) < 2:
            return frozenset()
        found = set()
        for name in (self._using_numpy - self._knowing_numpy_2) & self._records.keys():
            modules = [f"{self._site(name)}/{path}" for path, _ in self._files(name) if path.endswith(".so")]
            if len(modules) <= _FEW_MODULES or name in self.refused or name in self._against_numpy:
                found |= {path for path in modules if self._is_for_numpy_1(path)}
        return frozenset(found)

    def _is_for_numpy_1(self, path: str) -> bool:
        data = self._disk.data(path, _MOST_SEARCHED)
        return _FOR_NUMPY_2 not in data and any(name in data for name in _FOR_NUMPY_1)

    @cached_property
    def suspects(self) -> dict[str, str]:
        """The modules that are imported from distributions of a refused version, each with its distribution."""
        return {module(path[len(self._site(name)) + 1 :]).partition(".")[0]: name for name in self.refused for path in self._paths(name)}

    @cached_property
    def shadows(self) -> dict[str, tuple[str, str]]:
        """What an import finds before the modules of these distributions, in folders without their metadata: by module the file, and the distribution."""
        found: dict[str, tuple[str, str]] = {}
        for name in self._records:
            path = self._disk.path
            site = self._site(name)
            before = path[: path.index(site)] if site in path else ()
            foreign = [folder for folder in before if self._disk.names(folder) and not _STANDARD.search(folder)]
            tops = {module(one[len(site) + 1 :]).partition(".")[0] for one in self._paths(name)} if foreign else set()
            for folder in reversed(foreign):
                found |= {top: (file, name) for top in tops if (file := self._disk.start(folder, top))}
        return found

    def pin(self, name: str) -> str:
        """A distribution with its version, as name==version; empty if it is none of them."""
        return _pin(self._records[name].rsplit("/", 2)[1]) if name in self._records else ""

    @cached_property
    def lost(self) -> dict[str, DamageWords]:
        """What no import can use of these packages' files, by path."""
        found = {path: problem for name in self._records for path, problem in self._lost_of(name)}
        self.thorough = ZEROS in found.values()
        return found | ({path: problem for name in self._records for path, problem in self._lost_of(name)} if self.thorough else {})

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
        metadata, others = self._installed()
        self._numpy = _pin(metadata.get("numpy", "").rpartition("/")[2]).partition("==")[2].partition(".")[0]
        waiting = [name for name in (*self._own, *self.optional) if name in metadata]
        seen = set(waiting)
        while waiting:
            by = waiting.pop()
            if by not in self._own:
                self._records[by] = f"{metadata[by]}/RECORD"
            for name, bounds, conditional in self._requirements(metadata[by]):
                if name == "numpy":
                    (self._knowing_numpy_2 if _NAMES_NUMPY_2.search(bounds) else self._using_numpy).add(by)
                if name in metadata and name not in seen:
                    waiting.append(name)
                if bounds and not conditional and name in metadata and name not in self._own:
                    self._compare(name, bounds, metadata[name], metadata[by])
                if name not in metadata and name not in others and not conditional and by not in self._own:
                    self.absent.setdefault(name, by)
                seen.add(name)

    def _installed(self) -> tuple[dict[str, str], set[str]]:
        """The metadata of the installed distributions by name, and the names of everything else."""
        metadata: dict[str, str] = {}
        others: set[str] = set()
        for site in self._disk.path:
            for entry in self._disk.names(site):
                stem, info, _ = entry.partition(".dist-info")
                if info:
                    name, place = normal_name(stem.rpartition("-")[0]), f"{site}/{entry}"
                    if metadata.setdefault(name, place).startswith(f"{site}/") and self._is_left_behind(metadata[name], place):
                        metadata[name] = place
                else:
                    others.add(normal_name(entry.partition("-" if entry.endswith(".egg-info") else ".")[0]))
        return metadata, others

    def _is_left_behind(self, first: str, second: str) -> bool:
        """Whether of two metadata folders of one distribution, as interrupted upgrades leave them, only the second fits the files."""
        return first != second and not self._fits(first) and self._fits(second)

    def _fits(self, metadata: str) -> bool:
        """Whether the modules that imports start at have the sizes that a RECORD states."""
        site = metadata.rpartition("/")[0]
        starts = [
            (path, size)
            for path, size in recorded_files(self._disk.text(f"{metadata}/RECORD", RECORD_BYTES))
            if _STARTS.fullmatch(path) and size
        ]
        return bool(starts) and all(str(self._disk.size(f"{site}/{path}")) == size for path, size in starts)

    def _compare(self, name: str, bounds: str, found: str, by: str) -> None:
        """Take note of an installed distribution that does not meet a requirement; of two requirements the first counts."""
        pin, demanding = _pin(found.rpartition("/")[2]), _pin(by.rpartition("/")[2])
        if refuses(bounds, pin.partition("==")[2]):
            self.refused.setdefault(name, Refusal(pin, name + bounds, demanding))
            if name == "numpy":
                self._against_numpy.add(demanding.partition("==")[0])

    def _requirements(self, metadata: str) -> Iterator[tuple[str, str, bool]]:
        """The distributions that one requires, each with its versions and whether a condition is attached; an extra is a choice."""
        head = self._disk.text(f"{metadata}/METADATA", _METADATA_BYTES).partition("\n\n")[0]
        for found in _REQUIREMENT_LINE.finditer(head):
            name = normal_name(found[1])
            if "extra" not in found[3] and not name.startswith(NVIDIA_PACKAGES):
                yield name, found[2].strip(" \t()"), bool(found[3])

    def _files(self, name: str) -> list[tuple[str, str]]:
        if name not in self._listed:
            self._listed[name] = recorded_files(self._disk.text(self._records[name], RECORD_BYTES))
        return self._listed[name]

    def _site(self, name: str) -> str:
        return self._records[name].rsplit("/", 2)[0]

    def _paths(self, name: str) -> Iterator[str]:
        site = self._site(name)
        return (f"{site}/{path}" for path, _ in self._files(name))

    def _lost_of(self, name: str) -> Iterator[tuple[str, DamageWords]]:
        site = self._site(name)
        self._installed_at = self._disk.time_of_change(self._records[name])
        folders: dict[str, list[tuple[str, str]]] = {}
        for path, size in self._files(name):
            folder, _, file = path.rpartition("/")
            folders.setdefault(folder, []).append((file, size))
        for folder, files in folders.items():
            place = f"{site}/{folder}" if folder else site
            there = frozenset(self._disk.names(place))
            starting = "/" not in folder
            for file, size in files:
                library = file.endswith(".so")
                if file in there and not (library or starting or self.thorough):
                    continue
                problem = self._problem(place, file, size, there, compares=library or not folder or file == "__init__.py")
                if problem and self._is_imported_from(site, folder or file):
                    yield f"{place}/{file}", problem

    def _problem(self, folder: str, file: str, size: str, there: frozenset[str], *, compares: bool) -> DamageWords | None:
        """What is wrong with a file; `compares` its size, too, which of all files of a large environment would take too long."""
        if file in there:
            python = _PYTHON_OF_MODULE.search(file)
            if python and self._python not in {"", python[1]}:
                return "another-python", f"compiled for Python 3.{python[1]}"
            built_for = _OF_A_MACHINE.search(file)
            if built_for and built_for[1] != os.uname().machine:
                return "not-elf", f"compiled for {built_for[1]}"
            return self._unlike(f"{folder}/{file}", size) if compares or self.thorough else None
        empty_start = file == "__init__.py" and size == "0" and there  # a folder without it is a package too
        if empty_start or f"{file[:-3]}.pyc" in there or self._is_closed(folder):
            return None
        return GONE

    def _unlike(self, path: str, size: str) -> DamageWords | None:
        """What is wrong with a file of another size than the RECORD states."""
        actual, suspect = self._disk.size_and_suspicion(path, self._installed_at)
        if actual is None or not size:
            return None
        if str(actual) == size:
            return self._unreadable(path) if suspect or self.thorough or path.endswith(".py") else None
        if path.endswith(".py"):
            return rewritten(actual, int(size), lambda: self._disk.text(path, RECORD_BYTES), self._python)
        return self._disk.unloadable(path)

    def _unreadable(self, path: str) -> DamageWords | None:
        """What the beginning of a file has that no import can read, unless Python has compiled it before."""
        problem = self._disk.garbled(path)
        return None if path.endswith(".py") and problem and self._disk.is_compiled(path, self._python) else problem

    def _is_closed(self, folder: str) -> bool:
        problem = self._disk.problem(folder)
        return problem is not None and problem[1] == "unreadable"

    @property
    def _python(self) -> str:
        """The minor version of the examined Python, by the folder of its standard library; empty if unknown."""
        return self._disk.python

    def _is_imported_from(self, site: str, path: str) -> bool:
        """Whether no folder before this one has a package of that name, without metadata."""
        top = path.partition("/")[0].partition(".")[0]
        having = (folder for folder in self._disk.path if any(entry.partition(".")[0] == top for entry in self._disk.names(folder)))
        return next(having, site) == site


def rewritten(actual: int, size: int, text: Callable[[], str], python: str) -> DamageWords | None:
    """What is wrong with a Python file of another size than its RECORD states; None if it is valid Python all the same.

    Of a longer file this is only known if it is for a Python 3.`python` whose syntax our own compiles.
    """
    if not actual:
        return "empty", "an empty file"
    try:
        compile(text(), "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if actual < size:
            return "truncated", f"{actual:,} of {size:,} bytes, and no valid Python"
        if python.isdecimal() and _OLDEST_SYNTAX <= int(python) <= sys.version_info[1]:
            return "edited", "changed after installation, and no valid Python"
    return None


def refuses(bounds: str, version: str) -> bool:
    """Whether a version certainly does not meet a requirement, compared by its plain numbers."""
    numbers = _NUMBERS.match(version)
    if numbers is None:
        return False
    here = _release(numbers[0])
    answers = {
        ">=": lambda bound: here < bound,
        "<": lambda bound: here >= bound,
        "<=": lambda bound: here > bound,
        ">": lambda bound: here < bound,
        "==": lambda bound: here != bound,
    }
    return any(answers[operator](_release(bound)) for operator, bound in _CLAUSE.findall(bounds))


def _release(numbers: str) -> tuple[int, ...]:
    """The numbers of a release without zeros at the end: 2.0 is 2."""
    parts = [int(part) for part in numbers.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _pin(entry: str) -> str:
    """The distribution of a metadata folder, as name==version."""
    name, _, version = entry.removesuffix(".dist-info").rpartition("-")
    return f"{normal_name(name)}=={version}" if name else ""


def recorded_files(record: str) -> list[tuple[str, str]]:
    """The modules, extension modules and libraries that a RECORD lists below its folder, each with its size."""
    found = []
    for ending in _RECORD_LINE.finditer(
        record
    ):  # of the lines of a large wheel, one in ten; a pattern for whole lines takes five times as long
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
