"""What the import of a framework's Python package reaches and does not find. Nothing is imported.

The RECORDs of wheels list its files and those of what it requires. Only if some of them are gone, or a package is absent, are the import statements followed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gpudoctor.children.own.xray.disk import DANGLING, Disk
from gpudoctor.children.own.xray.required_files import GONE, RECORD_BYTES, DamageWords, Required, module, normal_name, recorded_files
from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec

"""The RECORD of TensorFlow, the longest, takes 2 MB."""
_IMPORT = re.compile(
    r"^(?:import[ \t]+(?P<modules>[^\n#;]+)|from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+))", re.MULTILINE
)
"""A statement that is not indented: no `try` or `if` is around it."""
_STANDARD = sys.stdlib_module_names | {"distutils", "imp", "asyncore", "asynchat", "smtpd"}
"""Modules of this Python and of earlier ones, which the examined one may have."""
_CERTAIN = {"numpy": ("numpy._core.multiarray", "numpy.core.multiarray")}
"""What the import of a package needs although no statement at its module level says so: NumPy's are below an `else`, and a `try` that raises again."""
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
    """Empty for an absent package that the import does not ask for."""
    owner: str = ""
    """The required distribution that the file belongs to, or of an absent module the one that imports it; empty if it is the framework's."""


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
        self._required: Required | None = None

    def lost(self) -> dict[str, DamageWords]:
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

    def unstated(self, build: BuildFile) -> dict[str, DamageWords]:
        """The file in which the package should state its build, if it is not as recorded and does not: as in `lost`."""
        path = next((path for path in build.files if path in self._sizes), "")
        there = self._disk.sizes(f"{self._site}/{os.path.dirname(path)}") if path and not build.dictionary else None
        if there is None or there.get(os.path.basename(path)) == self._sizes[path]:
            return {}
        assigned = set(_ASSIGNED.findall(self._disk.text(f"{self._site}/{path}", RECORD_BYTES)))
        lacking = [name for name in (build.cuda[0], build.hip) if name and name not in assigned]
        return {path: ("truncated", f"it does not assign {' and '.join(lacking)}")} if lacking else {}

    def _problem(self, path: str, there: dict[str, int], name: str, size: int) -> DamageWords | None:
        actual = there.get(name)
        if actual in {None, DANGLING} and name == "__init__.py" and there and not size:
            return None  # a folder without its empty __init__.py is a package too
        if actual is None:
            return None if f"{name[:-3]}.pyc" in there else GONE
        if actual == DANGLING:
            return "dangling-link", "a link to a file that does not exist"
        if actual >= size or not name.endswith(".py"):
            return None
        if not actual:
            return "empty", "an empty file"
        return None if self._compiles(path) else ("truncated", f"{actual:,} of {size:,} bytes, and no valid Python")

    def _compiles(self, path: str) -> bool:
        try:
            compile(self._disk.text(f"{self._site}/{path}", RECORD_BYTES), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    def first_hole(
        self, start: tuple[str, ...], lost: dict[str, DamageWords], absent: frozenset[str], shadowed: frozenset[str] = frozenset()
    ) -> Hole | None:
        """The first of these files and modules that the imports of the modules `start` ask for at module level, in the order of the statements.

        If a package is absent, so may be modules that are not named after it: absl of absl-py.
        """
        seen: set[str] = set()
        waiting: list[tuple[str, str, Iterator[str]]] = [("", "", iter(start))]
        while waiting:
            asker, around, wanted = waiting[-1]
            name = next(wanted, None)
            if name is None:
                waiting.pop()
            elif name not in seen:
                seen.add(name)
                path = self._path(name)
                found = self._wrong(name, path, lost, absent, shadowed)
                if found is not None and self._imports_it(asker, around, name):
                    return found._replace(asked_by=asker)
                if found is not None:
                    seen.discard(name)  # another file may have it in a statement
                elif path.endswith(".py"):
                    inside = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
                    waiting.append((self._at(path), inside, self._imports(path, inside)))
                    certain = next(filter(self._path, _CERTAIN.get(name, ())), "")
                    waiting.append(("", "", _with_parents(certain)))
                elif library := self._required.unlinked(self._at(path)) if self._required and path else "":
                    return Hole(name, library, *lost[library], self._at(path))
        return None

    def _wrong(self, name: str, path: str, lost: dict[str, DamageWords], absent: frozenset[str], shadowed: frozenset[str]) -> Hole | None:
        """What is wrong with the file of a module, or with a module of another package or of Python, if something is."""
        if name in shadowed:
            return Hole(name, "", "shadowed", "another file shadows it", "")
        if name not in absent and path in lost:
            return Hole(name, self._at(path), *lost[path], "")
        if name in absent or (absent and not self._exists(name)):
            return Hole(name, "", "missing", "its package is not installed", "")
        return None

    def _imports_it(self, asker: str, around: str, name: str) -> bool:
        """Whether a file imports a module in a statement, not in a text that it holds; if our own Python cannot parse it, every module of the standard library counts."""
        try:
            tree = compile(self._disk.text(asker), asker, "exec", _ONLY_TREE, dont_inherit=True) if asker else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return name in _STANDARD
        return tree is None or name in _imported(_stated(tree), around, self._path)

    def _path(self, name: str) -> str:
        """The file of a module of the packages, below the folder that holds them; without a RECORD, if it is there; otherwise empty."""
        top, place = name.partition(".")[0], name.replace(".", "/")
        if self._library and top in _STANDARD:
            place = f"{self._library}/{place}"
        elif self._modules or top not in self._names:
            return self._modules.get(name, "") or (self._required.modules.get(name, "") if self._required else "")
        return next((path for path in (f"{place}/__init__.py", f"{place}.py") if self._disk.exists(self._at(path))), "")

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._site}/{path}"

    def with_library(self) -> Package:
        """The same, which also follows the imports of the standard library."""
        self._library = next((folder for folder in self._disk.path if self._disk.exists(f"{folder}/os.py")), "")
        return self

    def beside(self, required: Required) -> Package:
        """The same, which also follows the imports of what the framework requires."""
        self._required = required
        return self

    def _exists(self, name: str) -> bool:
        return bool(self._path(name)) or name.partition(".")[0] in _STANDARD or self._disk.finds(name)

    def _imports(self, path: str, around: str) -> Iterator[str]:
        yield from imports(self._disk.text(self._at(path)), around, self._path)


def imports(source: str, around: str, is_module: Callable[[str], object]) -> Iterator[str]:
    """The modules that the statements of a file at module level import, in order; `around` is the package that the file is in."""
    return _imported(_read(source), around, is_module)


Statement = tuple[str, tuple[str, ...]]
"""The module of a `from` with its dots, or "" for an `import`, and the names after it."""


def _read(source: str) -> Iterator[Statement]:
    """Read the statements by their form, also those in texts: of a thousand files, parsing takes seconds."""
    for found in _IMPORT.finditer(source):
        names = found["modules"] or re.sub(r"#[^\n]*", "", found["names"]).strip("()")
        yield found["module"] or "", tuple(name.strip().partition(" ")[0] for name in names.split(","))


def _stated(tree: Any) -> Iterator[Statement]:
    """The same of a file that was parsed."""
    for statement in tree.body:
        kind = type(statement).__name__
        if kind in {"Import", "ImportFrom"}:
            origin = "." * statement.level + (statement.module or "") if kind == "ImportFrom" else ""
            yield origin, tuple(one.name for one in statement.names)


def _imported(statements: Iterable[Statement], around: str, is_module: Callable[[str], object]) -> Iterator[str]:
    for origin, names in statements:
        if not origin:
            for name in names:
                yield from _with_parents(name)
            continue
        dots = len(origin) - len(origin.lstrip("."))
        base = ".".join(around.split(".")[: around.count(".") + 2 - dots]) if dots else ""
        whole = ".".join(filter(None, (base, origin[dots:])))
        yield from _with_parents(whole)
        yield from filter(is_module, (f"{whole}.{name}" for name in names))


def _with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    if all(map(_WORD.fullmatch, parts)):
        yield from (".".join(parts[: number + 1]) for number in range(len(parts)))


def recorded(disk: Disk, site: str, package: str, distributions: tuple[str, ...]) -> dict[str, int]:
    """The Python files and extension modules of the wheel with an import package, with their sizes; empty unless exactly one wheel has it."""
    found = []
    for entry in disk.names(site):
        stem, info, _ = entry.partition(".dist-info")
        name = normal_name(stem.partition("-")[0])
        if info and name in distributions:
            files = _of_record(disk.text(f"{site}/{entry}/RECORD", RECORD_BYTES))
            found += [files] if f"{package}/__init__.py" in files else []
    return found[0] if len(found) == 1 else {}


def _of_record(text: str) -> dict[str, int]:
    return {path: int(size) for path, size in recorded_files(text) if size and path.endswith((".py", ".so"))}


def unstartable(disk: Disk, home: str, name: str) -> Hole | None:
    """Why an import finds nothing in the folder of a package: it is gone, a link to nothing or closed to this user, or its __init__ is."""
    there = disk.sizes(home)
    starts = [entry for entry in there or () if entry.startswith("__init__.")]
    path = f"{home}/{starts[0]}" if starts else home
    if problem := disk.problem(path):
        return Hole(name, *problem, "")
    return None if starts or there is None else Hole(name, f"{home}/__init__.py", "missing", "nothing in its folder can be imported", "")


def hole(disk: Disk, home: str, spec: FrameworkSpec, absent: frozenset[str]) -> Hole | None:
    """The first file or module that the import of the framework in the folder `home` lacks; of what only later imports need, a package that is absent.

    `absent` are the modules of packages that it requires and that are not installed.
    """
    if start := unstartable(disk, home, spec.name):
        return start
    package = _package(disk, home, spec)
    required = Required(disk, _distributions(spec))
    lost = (package.unstated(spec.build) if spec.build else {}) | package.lost() | required.lost
    absent |= frozenset(name.replace("-", "_") for name in required.absent)
    stating = (module(file) for file, _ in (spec.version_files[name] for name in spec.distributions[:1] if name in spec.version_files))
    found = package.beside(required).first_hole((spec.name, *stating), lost, absent) if lost or absent else None
    if found is None:
        return next((Hole(name, "", "missing", "its package is not installed", "", by) for name, by in required.absent.items()), None)
    return found._replace(owner=required.owners.get(found.path or found.asked_by, ""))


def asking(disk: Disk, home: str, spec: FrameworkSpec, modules: frozenset[str]) -> Hole | None:
    """The first of these modules of the standard library that the import of the framework asks for, itself or through another one."""
    package = _package(disk, home, spec)
    own = package.first_hole((spec.name,), {}, frozenset(), modules)
    return own or package.with_library().first_hole((spec.name,), {}, frozenset(), modules)


def _package(disk: Disk, home: str, spec: FrameworkSpec) -> Package:
    library = (spec.plugin.library,) if spec.plugin else ()
    return Package(disk, os.path.dirname(home), (spec.name, *library), _distributions(spec))


def _distributions(spec: FrameworkSpec) -> tuple[str, ...]:
    return (*spec.distributions, *((spec.plugin.library,) if spec.plugin else ()))
