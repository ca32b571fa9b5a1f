"""What the import of a framework's Python package reaches and does not find. Nothing is imported.

Its wheel's RECORD lists its files. Only if some of them are gone or cut short, or a required package is absent, are the import statements followed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpudoctor.children.own.xray.disk import DANGLING, Disk
from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec

_RECORD_BYTES = 8 << 20
"""The RECORD of TensorFlow, the longest, takes 2 MB."""
_IMPORT = re.compile(
    r"^(?:import[ \t]+(?P<modules>[^\n#;]+)|from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+))", re.MULTILINE
)
"""A statement that is not indented: no `try` or `if` is around it."""
_STANDARD = sys.stdlib_module_names | {"distutils", "imp", "asyncore", "asynchat", "smtpd"}
"""Modules of this Python and of earlier ones, which the examined one may have."""
_ASSIGNED = re.compile(r"^(\w+)[ \t]*(?::[^=\n]*)?=", re.MULTILINE)
_ONLY_TREE = 0x400  # PyCF_ONLY_AST
_WORD = re.compile(r"[^\W\d]\w*")


class Hole(NamedTuple):
    """A file or a module that an import asks for and does not find, or cannot read."""

    module: str
    path: str
    """Of a file of the package; empty for a module of another package."""
    kind: str
    why: str
    asked_by: str


class Package:
    """The files of import packages that one wheel each installed, by its RECORD."""

    def __init__(self, disk: Disk, site: str, names: tuple[str, ...], distributions: tuple[str, ...]) -> None:
        """`site` is the folder that holds the import packages `names`, `distributions` are those that may have installed them."""
        self._disk = disk
        self._site = site
        self._names = names
        self._library = ""
        self._sizes = {path: size for name in names for path, size in recorded(disk, site, name, distributions).items()}
        self._modules = {module(path): path for path in self._sizes}

    def lost(self) -> dict[str, tuple[str, str]]:
        """The recorded files that no import can use: a kind of damage and its words, by path below the folder."""
        folders: dict[str, dict[str, int] | None] = {}
        found = {}
        for path, size in self._sizes.items():
            folder, _, name = path.rpartition("/")
            if folder not in folders:
                folders[folder] = self._disk.sizes(f"{self._site}/{folder}")
            there = folders[folder]
            if there is not None and (problem := self._problem(path, there, name, size)):
                found[path] = problem
        return found

    def unstated(self, build: BuildFile) -> dict[str, tuple[str, str]]:
        """The file in which the package should state its build, if it is not as recorded and does not: as in `lost`."""
        path = next((path for path in build.files if path in self._sizes), "")
        there = self._disk.sizes(f"{self._site}/{os.path.dirname(path)}") if path and not build.dictionary else None
        if there is None or there.get(os.path.basename(path)) == self._sizes[path]:
            return {}
        assigned = set(_ASSIGNED.findall(self._disk.text(f"{self._site}/{path}", _RECORD_BYTES)))
        lacking = [name for name in (build.cuda[0], build.hip) if name and name not in assigned]
        return {path: ("truncated", f"it does not assign {' and '.join(lacking)}")} if lacking else {}

    def _problem(self, path: str, there: dict[str, int], name: str, size: int) -> tuple[str, str] | None:
        actual = there.get(name)
        if actual in {None, DANGLING} and there and not size:
            return None  # a folder without its empty __init__.py is a package too
        if actual is None:
            return None if f"{name[:-3]}.pyc" in there else ("missing", "its package's RECORD lists it")
        if actual == DANGLING:
            return "dangling-link", "a link to a file that does not exist"
        if actual >= size or not name.endswith(".py"):
            return None
        if not actual:
            return "empty", "an empty file"
        return None if self._compiles(path) else ("truncated", f"{actual:,} of {size:,} bytes, and no valid Python")

    def _compiles(self, path: str) -> bool:
        try:
            compile(self._disk.text(f"{self._site}/{path}", _RECORD_BYTES), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    def first_hole(
        self, start: tuple[str, ...], lost: dict[str, tuple[str, str]], absent: frozenset[str], shadowed: frozenset[str] = frozenset()
    ) -> Hole | None:
        """The first of these files and modules that the imports of the modules `start` ask for at module level, in the order of the statements.

        If a package is absent, so may be modules that are not named after it: absl of absl-py.
        """
        seen: set[str] = set()
        waiting: list[tuple[str, Iterator[str]]] = [("", iter(start))]
        while waiting:
            asker, wanted = waiting[-1]
            name = next(wanted, None)
            if name is None:
                waiting.pop()
            elif name not in seen:
                seen.add(name)
                path = self._path(name)
                if path in lost:
                    return Hole(name, f"{self._site}/{path}", *lost[path], asker)
                of_others = self._of_others(name, absent, shadowed)
                if of_others is not None and self._imports_it(asker, name):
                    return of_others._replace(asked_by=asker)
                if of_others is not None:
                    seen.discard(name)  # another file may have it in a statement
                elif path.endswith(".py"):
                    waiting.append((self._at(path), self._imports(name, path)))
        return None

    def _of_others(self, name: str, absent: frozenset[str], shadowed: frozenset[str]) -> Hole | None:
        """What is wrong with a module of another package or of Python, if something is."""
        if name in shadowed:
            return Hole(name, "", "shadowed", "another file shadows it", "")
        if name in absent or (absent and not self._exists(name)):
            return Hole(name, "", "missing", "its package is not installed", "")
        return None

    def _imports_it(self, asker: str, name: str) -> bool:
        """Whether a file imports a module in a statement, not in a text that it holds; if our own Python cannot parse it, every module of the standard library counts."""
        try:
            tree = compile(self._disk.text(asker), asker, "exec", _ONLY_TREE, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return name in _STANDARD
        for statement in getattr(tree, "body", ()):
            named = [one.name for one in getattr(statement, "names", ())] if type(statement).__name__ == "Import" else []
            named += [statement.module or ""] if type(statement).__name__ == "ImportFrom" and not statement.level else []
            if any(f"{one}.".startswith(f"{name}.") for one in named):
                return True
        return False

    def _path(self, name: str) -> str:
        """The file of a module of the packages, below the folder that holds them; without a RECORD, if it is there; otherwise empty."""
        top, place = name.partition(".")[0], name.replace(".", "/")
        if self._library and top in _STANDARD:
            place = f"{self._library}/{place}"
        elif self._modules or top not in self._names:
            return self._modules.get(name, "")
        return next((path for path in (f"{place}/__init__.py", f"{place}.py") if self._disk.exists(self._at(path))), "")

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._site}/{path}"

    def with_library(self) -> Package:
        """The same, which also follows the imports of the standard library."""
        self._library = next((folder for folder in self._disk.path if self._disk.exists(f"{folder}/os.py")), "")
        return self

    def _exists(self, name: str) -> bool:
        return bool(self._path(name)) or name.partition(".")[0] in _STANDARD or self._disk.finds(name)

    def _imports(self, name: str, path: str) -> Iterator[str]:
        around = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
        yield from imports(self._disk.text(self._at(path)), around, self._path)


def imports(source: str, around: str, is_module: Callable[[str], object]) -> Iterator[str]:
    """The modules that the statements of a file at module level import, in order; `around` is the package that the file is in."""
    for found in _IMPORT.finditer(source):
        if found["modules"]:
            for name in found["modules"].split(","):
                yield from _with_parents(name.strip().partition(" ")[0])
            continue
        dots = len(found["module"]) - len(found["module"].lstrip("."))
        base = ".".join(around.split(".")[: around.count(".") + 2 - dots]) if dots else ""
        whole = ".".join(filter(None, (base, found["module"][dots:])))
        yield from _with_parents(whole)
        names = re.sub(r"#[^\n]*", "", found["names"]).strip("()").split(",")
        below = (f"{whole}.{name.strip().partition(' ')[0]}" for name in names)
        yield from filter(is_module, below)


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    if all(map(_WORD.fullmatch, parts)):
        yield from (".".join(parts[: number + 1]) for number in range(len(parts)))


def module(path: str) -> str:
    """The module that a file of a package is: torch/nn/__init__.py is torch.nn, torch/_C.cpython-311-x86_64-linux-gnu.so is torch._C."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder.replace("/", ".") if stem == "__init__" else f"{folder}/{stem}".replace("/", ".")


def recorded(disk: Disk, site: str, package: str, distributions: tuple[str, ...]) -> dict[str, int]:
    """The Python files and extension modules of an import package with their sizes; empty unless exactly one wheel states them."""
    found = []
    for entry in disk.names(site):
        stem, info, _ = entry.partition(".dist-info")
        name = stem.partition("-")[0].replace("_", "-").replace(".", "-").lower()
        if info and name in distributions:
            files = _of_record(disk.text(f"{site}/{entry}/RECORD", _RECORD_BYTES), package)
            found += [files] if f"{package}/__init__.py" in files else []
    return found[0] if len(found) == 1 else {}


def _of_record(text: str, package: str) -> dict[str, int]:
    beginning, files = f"{package}/", {}
    for line in text.split("\n"):
        if line.startswith(beginning):
            path, _, rest = line.partition(",")
            size = rest.rpartition(",")[2].strip()
            if path.endswith((".py", ".so")) and size.isascii() and size.isdecimal():
                files[path] = int(size)
    return files


def unstartable(disk: Disk, home: str, name: str) -> Hole | None:
    """Why an import finds nothing in the folder of a package: it is gone, a link to nothing or closed to this user, or its __init__ is."""
    there = disk.sizes(home)
    starts = [entry for entry in there or () if entry.startswith("__init__.")]
    path = f"{home}/{starts[0]}" if starts else home
    if problem := disk.problem(path):
        return Hole(name, *problem, "")
    return None if starts or there is None else Hole(name, f"{home}/__init__.py", "missing", "nothing in its folder can be imported", "")


def hole(disk: Disk, home: str, spec: FrameworkSpec, absent: frozenset[str]) -> Hole | None:
    """The first file or module that the import of the framework in the folder `home` lacks.

    `absent` are the modules of packages that it requires and that are not installed.
    """
    if start := unstartable(disk, home, spec.name):
        return start
    package = _package(disk, home, spec)
    lost = (package.unstated(spec.build) if spec.build else {}) | package.lost()
    stating = (module(file) for file, _ in (spec.version_files[name] for name in spec.distributions[:1] if name in spec.version_files))
    return package.first_hole((spec.name, *stating), lost, absent) if lost or absent else None


def asking(disk: Disk, home: str, spec: FrameworkSpec, modules: frozenset[str]) -> Hole | None:
    """The first of these modules of the standard library that the import of the framework asks for, itself or through another one."""
    package = _package(disk, home, spec)
    own = package.first_hole((spec.name,), {}, frozenset(), modules)
    return own or package.with_library().first_hole((spec.name,), {}, frozenset(), modules)


def _package(disk: Disk, home: str, spec: FrameworkSpec) -> Package:
    library = (spec.plugin.library,) if spec.plugin else ()
    return Package(disk, os.path.dirname(home), (spec.name, *library), (*spec.distributions, *library))
