"""What the import of a framework's Python package reaches and does not find. Nothing is imported.

The RECORDs of wheels list its files and those of what it requires. Only if some of them are gone, or a package is absent, are the import statements followed.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gpudoctor.children.own.xray.disk import DANGLING, GARBLED, ZEROS, Disk
from gpudoctor.children.own.xray.required_files import (
    GONE,
    RECORD_BYTES,
    DamageWords,
    Refusal,
    Required,
    module,
    normal_name,
    recorded_files,
    rewritten,
)
from gpudoctor.frameworks.spec import BuildFile, FrameworkSpec

"""The RECORD of TensorFlow, the longest, takes 2 MB."""
_IMPORT_STATEMENT = re.compile(
    r"^(?:import[ \t]+(?P<modules>[^\n#;]+)|from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+)"
    r"|try:\n[ \t]+import[ \t]+(?P<tried>[.\w]+)[^\n]*\n(?:[ \t]+\w+ = [^\n]*\n)*except ModuleNotFoundError\b)",
    re.MULTILINE,
)
"""A statement that is not indented: no `if` is around it, and no `try` but one that only excuses a module that is absent."""
_STANDARD_MODULES = sys.stdlib_module_names | {"distutils", "imp", "asyncore", "asynchat", "smtpd"}
"""Modules of this Python and of earlier ones, which the examined one may have."""
_CERTAIN_MODULES = {"numpy": ("numpy._core.multiarray", "numpy.core.multiarray")}
"""What the import of a package needs although no statement at its module level says so: NumPy's are below an `else`, and a `try` that raises again."""
_ASSIGNED_NAME = re.compile(r"^(\w+)[ \t]*(?::[^=\n]*)?=", re.MULTILINE)
_DYNAMIC = re.compile(
    r"import[ \t]*\(?\*|^def __getattr__|^__getattr__|(?:globals|vars|locals)\(\)(?:\[|\.update|\.setdefault)|=[ \t]*globals\(\)$"
    r"|^[ \t]*exec\(|sys\.modules\[|\battach\(",
    re.MULTILINE,
)
"""What makes names of a module that its text need not have."""
_RARELY_IMPORTED = frozenset((
    "_crypt", "_curses", "_curses_panel", "_dbm", "_gdbm", "_msi", "_overlapped", "_scproxy", "_tkinter", "_winapi", "_wmi", "crypt", "curses",
    "ensurepip", "idlelib", "lib2to3", "msilib", "msvcrt", "nis", "nt", "ossaudiodev", "readline", "spwd", "tkinter", "turtle", "turtledemo",
    "winreg", "winsound",
))  # fmt: skip
"""Modules of other systems, and those that distributions leave out: no framework's import needs them, so their absence alone is no reason to follow it."""
NOT_IN_PYTHON = "not-in-python"
"""The kind of a module of the standard library that the target's Python lacks."""
UNFIT = ("lacks-name", "another-numpy", "shadowed-package")
"""Kinds of modules that are there and are not what the import needs."""
FOR_NUMPY_1 = ("another-numpy", "compiled for NumPy 1")
_SAMPLE = 40
"""Files to read for zeros: to open all of torch would take a third of the whole X-ray's time."""
_SYNTAX_TREE_FLAG = 0x400  # PyCF_ONLY_AST
_WORD_FORM = re.compile(r"[^\W\d]\w*")


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
    pin: str = ""
    """Of a module that does not fit: its distribution, as name==version."""
    refusal: Refusal | None = None


_NONE = Hole("", "", "", "", "")


class WheelFiles:
    """The files of import packages that one wheel each installed, by its RECORD."""

    def __init__(self, disk: Disk, site: str, names: tuple[str, ...], distributions: tuple[str, ...]) -> None:
        """`site` is the folder that holds the import packages `names`, `distributions` are those that may have installed them."""
        self._disk = disk
        self._site = site
        self._names = names
        self._library = ""
        self._not_in_python: frozenset[str] = frozenset()
        found = [recorded(disk, site, name, distributions) for name in names]
        self._sizes = {path: size for one in found for path, size in one.sizes.items()}
        self._installed_at = max((disk.time_of_change(one.record) for one in found if one.record), default=math.inf)
        self._records = [one.record for one in found if one.record]
        self._modules = {module(path): path for path in self._sizes}
        self._required: Required | None = None

    def lost(self) -> dict[str, DamageWords]:
        """The recorded files that no import can use: a kind of damage and its words, by path below the folder."""
        folders: dict[str, dict[str, int] | None] = {}
        found = {}
        for path, size in self._sizes.items():
            folder, _, name = path.rpartition("/")
            if folder not in folders:
                folders[folder] = self._disk.sizes(f"{self._site}/{folder}", self._installed_at)
            there = folders[folder]
            if there is None:
                continue
            problem = self._problem(path, there, name, size) if there.get(name) != size else None
            if problem or (name[:-3] in there and name.endswith(".py") and (problem := self._beside(path, there))):
                found[path] = problem
        return found | self._zeroed(found)

    def lost_program(self, names: tuple[str, ...]) -> Hole | None:
        """The first of these files that the package's RECORD lists and that is gone; the import looks for them, although they are no modules."""
        for name in names:
            if not self._disk.exists(self._at(name)) and any(
                f"\n{name}," in self._disk.text(record, RECORD_BYTES) for record in self._records
            ):
                return Hole("", self._at(name), *GONE, "")
        return None

    def _beside(self, path: str, there: Mapping[str, int]) -> DamageWords | None:
        """What an import takes in place of a recorded module: a folder of that name beside it, which no RECORD lists."""
        folder = path.removesuffix(".py")
        other = f"{folder}/__init__.py"
        is_shadowed = folder.rpartition("/")[2] in there and other not in self._sizes and self._disk.exists(self._at(other))
        return ("shadowed", f"the folder {self._at(folder)} is imported in its place") if is_shadowed else None

    def _zeroed(self, found: Mapping[str, DamageWords]) -> dict[str, DamageWords]:
        """The files of the right size that are filled with zeros: a power failure leaves many, so all are read only if one of a sample is."""
        if ZEROS not in found.values() and not any(self._unreadable(path) == ZEROS for path in _sample(self._sizes)):
            return {}
        left = (path for path, size in self._sizes.items() if size and path not in found)
        return {path: problem for path in left if (problem := self._unreadable(path))}

    def _unreadable(self, path: str) -> DamageWords | None:
        """What the beginning of a file has that no import can read, unless Python has compiled it before."""
        at = self._at(path)
        problem = self._disk.garbled(at)
        return None if path.endswith(".py") and problem and self._disk.is_compiled(at, self._disk.python) else problem

    def unstated(self, build: BuildFile) -> dict[str, DamageWords]:
        """The file in which the package should state its build, if it is not as recorded and does not: as in `lost`."""
        path = next((path for path in build.files if path in self._sizes), "")
        there = self._disk.sizes(f"{self._site}/{os.path.dirname(path)}") if path and not build.dictionary else None
        if there is None or there.get(os.path.basename(path)) == self._sizes[path]:
            return {}
        assigned = set(_ASSIGNED_NAME.findall(self._disk.text(f"{self._site}/{path}", RECORD_BYTES)))
        lacking = [name for name in (build.cuda[0], build.hip) if name and name not in assigned]
        return {path: ("truncated", f"it does not assign {' and '.join(lacking)}")} if lacking else {}

    def _problem(self, path: str, there: dict[str, int], name: str, size: int) -> DamageWords | None:
        actual = there.get(name)
        if actual in {None, DANGLING} and name == "__init__.py" and there and not size:
            return None  # a folder without its empty __init__.py is a package too
        if actual is None:
            return None if f"{name[:-3]}.pyc" in there else GONE
        if actual == GARBLED:
            return self._unreadable(path)
        if actual == DANGLING:
            return "dangling-link", "a link to a file that does not exist"
        return (
            rewritten(actual, size, lambda: self._disk.text(self._at(path), RECORD_BYTES), self._disk.python)
            if name.endswith(".py")
            else None
        )

    def first_hole(self, start: tuple[str, ...], lost: dict[str, DamageWords], absent: frozenset[str]) -> Hole | None:
        """The first of these files and modules that the imports of the modules `start` ask for at module level, in the order of the statements.

        If a package is absent, so may be modules that are not named after it: absl of absl-py.
        """
        seen: dict[str, None] = {}
        waiting = [_Frame("", "", "", iter(start))]
        while waiting:
            asker = waiting[-1].file
            name = next(waiting[-1].wanted, None)
            if name is None:
                waiting.pop()
            elif name not in seen:
                seen[name] = None
                path = self._path(name)
                found = self._wrong(name, path, lost, absent)
                if found is not None:
                    if (depth := self._false_depth([*waiting, _Frame("", "", name, iter(()))])) is None:
                        return found._replace(asked_by=asker)
                    _forget(seen, waiting[depth].module if depth < len(waiting) else name)  # another file may have it in a statement
                    del waiting[depth:]
                elif path.endswith(".py"):
                    inside = name if path.endswith("/__init__.py") else name.rpartition(".")[0]
                    if (unmet := self._unmet(self._at(path), inside)) is not None:
                        return unmet
                    waiting.append(_Frame(self._at(path), inside, name, self._imports(path, inside)))
                    certain = next(filter(self._path, _CERTAIN_MODULES.get(name, ())), "")
                    waiting.append(_Frame("", "", name, _name_with_parents(certain)))
                elif self._required and path in self._required.for_numpy_1:
                    return Hole(name, path, *FOR_NUMPY_1, waiting[-1].file if waiting else "")
                elif library := self._required.unlinked(self._at(path)) if self._required and path else "":
                    return Hole(name, library, *lost[library], self._at(path))
        return None

    def _false_depth(self, frames: list[_Frame]) -> int | None:
        """The first of these frames whose module the file of an earlier one does not import in a statement; None if all are imported."""
        for depth in range(1, len(frames)):
            asking, module = frames[depth - 1], frames[depth].module
            if asking.file and module != asking.module and not self._imports_it(asking.file, asking.package, module):
                return depth
        return None

    def _wrong(self, name: str, path: str, lost: dict[str, DamageWords], absent: frozenset[str]) -> Hole | None:
        """What is wrong with the file of a module, or with a module of another package, if something is."""
        if name not in absent and path in lost:
            return Hole(name, self._at(path), *lost[path], "")
        if name.partition(".")[0] in self._not_in_python and not path:
            return Hole(name, "", NOT_IN_PYTHON, "the standard library of this Python lacks it", "")
        optional = self._required.optional if self._required else ()
        if name.partition(".")[0] not in optional and (name in absent or (absent and not self._exists(name))):
            return Hole(name, "", "missing", "its package is not installed", "")
        return None

    def _imports_it(self, asker: str, around: str, name: str) -> bool:
        """Whether a file imports a module in a statement, not in a text that it holds; if our own Python cannot parse it, every module of the standard library counts."""
        tree = _tree(self._disk.text(asker), asker) if asker else None
        return (tree is None and (not asker or name in _STANDARD_MODULES)) or (
            tree is not None and name in _imported_names(_statements_of_tree(tree), around, self._path)
        )

    def uses(self, name: str, shadows: Mapping[str, str]) -> list[Hole]:
        """The first use of each shadowed module by the import of `name`, or the first that fails."""
        found: dict[str, Hole] = {}
        for path, _ in self._files(name, frozenset(shadows)):
            source = self._disk.text(path)
            asked = [one for one in shadows if one in source and found.get(one, _NONE).kind != "lacks-name"]
            tree = _tree(source, path) if asked else None
            for one in asked:
                names = names_used(tree, one)
                if names is None:
                    continue
                lacking = self._lacking(shadows[one], names)
                if lacking or one not in found:
                    found[one] = Hole(one, "", "lacks-name" if lacking else "shadowed", lacking or "another file shadows it", path)
        return list(found.values())

    def _lacking(self, file: str, names: list[str]) -> str:
        """What a file certainly lacks that is used of it, in words; empty if nothing, or if it is not Python."""
        file = f"{file}/__init__.py" if self._disk.exists(f"{file}/__init__.py") else file
        source = self._disk.text(file) if file.endswith(".py") else ""
        if source and _tree(source, file) is None:
            return "it is not valid Python"
        beside = self._disk.names(os.path.dirname(file)) if file.endswith("/__init__.py") else []
        stems = {entry.partition(".")[0] for entry in beside}
        lacking = next((name for name in names if name not in stems and lacks(source, name)), "") if file.endswith(".py") else ""
        return f"it does not define {lacking}" if lacking else ""

    def _files(self, name: str, without: frozenset[str]) -> Iterator[tuple[str, str]]:
        """The Python files that the import of a module runs, each with its package, in this order; `without` are not followed."""
        seen = set(without)
        waiting = [iter((name,))]
        while waiting:
            one = next(waiting[-1], None)
            if one is None:
                waiting.pop()
            elif one not in seen:
                seen.add(one)
                path = self._path(one)
                if path.endswith(".py"):
                    inside = one if path.endswith("/__init__.py") else one.rpartition(".")[0]
                    yield self._at(path), inside
                    waiting.append(self._imports(path, inside))
                    waiting.append(_name_with_parents(next(filter(self._path, _CERTAIN_MODULES.get(one, ())), "")))

    def _unmet(self, path: str, around: str) -> Hole | None:
        """A name that a file imports from a module of a refused version, or of one that is shadowed, and that is not in that one's text."""
        if self._required is None or not (self._required.refused or self._required.shadows):
            return None
        suspects, shadows = self._required.suspects, self._required.shadows
        source = self._disk.text(path)
        if not any(name in source for name in (*suspects, *shadows)):
            return None
        tree = _tree(source, path)
        for name, (file, owner) in shadows.items():
            used = names_used(tree, name) if name in source else None
            if used is not None and (why := self._lacking(file, used)):
                return Hole(name, file, "shadowed-package", why, path, owner)
        for origin, names in _statements_of_tree(tree):
            whole = resolved(origin, around)
            top = whole.partition(".")[0]
            if top in suspects and top not in shadows:
                file = self._path(whole)
                lacking = next(
                    (
                        name
                        for name in names
                        if file.endswith(".py") and not self._path(f"{whole}.{name}") and lacks(self._disk.text(self._at(file)), name)
                    ),
                    "",
                )
                if lacking:
                    return Hole(f"{whole}.{lacking}", self._at(file), "lacks-name", f"it does not define {lacking}", path)
        return None

    def _path(self, name: str) -> str:
        """The file of a module of the packages, below the folder that holds them; without a RECORD, if it is there; otherwise empty."""
        top, place = name.partition(".")[0], name.replace(".", "/")
        if self._library and (top in _STANDARD_MODULES or top in self._not_in_python):
            place = f"{self._library}/{place}"
        elif self._modules or top not in self._names:
            return self._modules.get(name, "") or (self._required.modules.get(name, "") if self._required else "")
        return next((path for path in (f"{place}/__init__.py", f"{place}.py") if self._disk.exists(self._at(path))), "")

    def _at(self, path: str) -> str:
        return path if path.startswith("/") else f"{self._site}/{path}"

    def with_library(self, lacking: frozenset[str] = frozenset()) -> WheelFiles:
        """The same, which also follows the imports of the standard library; `lacking` are the modules that are not in it."""
        self._not_in_python = lacking
        self._library = next((folder for folder in self._disk.path if self._disk.exists(f"{folder}/os.py")), "")
        return self

    def beside(self, required: Required) -> WheelFiles:
        """The same, which also follows the imports of what the framework requires."""
        self._required = required
        return self

    def _exists(self, name: str) -> bool:
        return bool(self._path(name)) or name.partition(".")[0] in _STANDARD_MODULES or self._disk.finds(name)

    def _imports(self, path: str, around: str) -> Iterator[str]:
        found = _statements_by_form(self._disk.text(self._at(path)), excused=not self._not_in_python)
        yield from _imported_names(found, around, self._path)


class _Frame(NamedTuple):
    """A module whose imports are followed."""

    file: str
    """Empty for modules that no statement asks for."""
    package: str
    module: str
    wanted: Iterator[str]


def _forget(seen: dict[str, None], module: str) -> None:
    """Remove a module, and all that were seen after it."""
    names = list(seen)
    for name in names[names.index(module) :]:
        del seen[name]


def imports(source: str, around: str, is_module: Callable[[str], object]) -> Iterator[str]:
    """The modules that the statements of a file at module level import, in order; `around` is the package that the file is in."""
    return _imported_names(_statements_by_form(source), around, is_module)


Statement = tuple[str, tuple[str, ...]]
"""The module of a `from` with its dots, or "" for an `import`, and the names after it."""


def _statements_by_form(source: str, *, excused: bool = True) -> Iterator[Statement]:
    """Read the statements by their form, also those in texts: of a thousand files, parsing takes seconds.

    With `excused` also those in a `try` that excuses an absent module.
    """
    for found in _IMPORT_STATEMENT.finditer(source):
        if found["tried"] and not excused:
            continue
        names = found["modules"] or found["tried"] or re.sub(r"#[^\n]*", "", found["names"]).strip("()")
        yield found["module"] or "", tuple(name.strip().partition(" ")[0] for name in names.split(","))


def _sample(paths: Iterable[str]) -> list[str]:
    """Some of a package's files, evenly spread, with the first."""
    every = list(paths)
    return every[:: len(every) // _SAMPLE + 1]


def _tree(source: str, path: str) -> Any:
    """The file as Python parses it; None if our own Python cannot."""
    try:
        return compile(source, path, "exec", _SYNTAX_TREE_FLAG, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _statements_of_tree(tree: Any) -> Iterator[Statement]:
    """The same of a file that was parsed."""
    for statement in _unconditional(tree):
        kind = type(statement).__name__
        if kind in {"Import", "ImportFrom"}:
            origin = "." * statement.level + (statement.module or "") if kind == "ImportFrom" else ""
            yield origin, tuple(one.name for one in statement.names)


def _unconditional(tree: Any) -> Iterator[Any]:
    """The statements of a file at module level, and the first of each `try` that only excuses a module that is absent."""
    for statement in tree.body if tree is not None else ():
        excused = [getattr(handler.type, "id", "") for handler in statement.handlers] if type(statement).__name__ == "Try" else []
        yield statement.body[0] if excused == ["ModuleNotFoundError"] else statement


def _imported_names(statements: Iterable[Statement], around: str, is_module: Callable[[str], object]) -> Iterator[str]:
    for origin, names in statements:
        if not origin:
            for name in names:
                yield from _name_with_parents(name)
            continue
        whole = resolved(origin, around)
        yield from _name_with_parents(whole)
        yield from filter(is_module, (f"{whole}.{name}" for name in names))


def names_used(tree: Any, module: str) -> list[str] | None:
    """What a file uses of a module while it is imported itself, outside of functions and conditions; None if it does not import the module there."""
    imported, names, aliases = False, [], set()
    below = f"{module}."
    for statement in _unconditional(tree):
        kind = type(statement).__name__
        if kind == "Import":
            for one in statement.names:
                if one.name == module or one.name.startswith(below):
                    imported = True
                    names += [one.name[len(below) :].partition(".")[0]] if one.name != module else []
                    aliases |= {module} if one.asname is None else {one.asname} if one.name == module else set()
        elif kind == "ImportFrom" and not statement.level and f"{statement.module}.".startswith(below):
            imported = True
            names += (
                [one.name for one in statement.names] if statement.module == module else [statement.module[len(below) :].partition(".")[0]]
            )
    if not imported:
        return None
    if aliases:
        names += [node.attr for node in _at_import(tree) if type(node).__name__ == "Attribute" and getattr(node.value, "id", "") in aliases]
    return names


_LATER = {
    "FunctionDef": ("decorator_list", "args"),
    "AsyncFunctionDef": ("decorator_list", "args"),
    "Lambda": ("args",),
    "arguments": ("defaults", "kw_defaults"),
    "If": ("test",),
    "Try": (),
    "TryStar": (),
    "IfExp": ("test",),
}
"""What of a statement or an expression is certainly evaluated when the file is imported; of the others all."""


def _at_import(node: Any) -> Iterator[Any]:
    """The parts of a syntax tree that are evaluated when the file is imported."""
    yield node
    kind = type(node).__name__
    for field in _LATER.get(kind, node._fields):
        value = getattr(node, field, None)
        for one in value if isinstance(value, list) else (value,):
            if field != "annotation" and hasattr(one, "_fields"):
                yield from _at_import(one)


def resolved(origin: str, around: str) -> str:
    """The module of a `from` statement in the package `around`; empty for an `import`."""
    dots = len(origin) - len(origin.lstrip("."))
    base = ".".join(around.split(".")[: around.count(".") + 2 - dots]) if dots else ""
    return ".".join(filter(None, (base, origin[dots:])))


def lacks(source: str, name: str) -> bool:
    """Whether a module certainly does not define a name: its text does not have the word, and makes no names at run time."""
    return name != "*" and not _DYNAMIC.search(source) and re.search(rf"\b{re.escape(name)}\b", source) is None


def _name_with_parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    if all(map(_WORD_FORM.fullmatch, parts)):
        yield from (".".join(parts[: number + 1]) for number in range(len(parts)))


class Recorded(NamedTuple):
    """The Python files and extension modules of a wheel."""

    sizes: dict[str, int]
    """By path below the folder that holds the package."""
    record: str
    """Its RECORD; empty if it is not known."""


def recorded(disk: Disk, site: str, package: str, distributions: tuple[str, ...]) -> Recorded:
    """What the wheel with an import package installed; empty unless exactly one wheel has it."""
    found = []
    for entry in disk.names(site):
        stem, info, _ = entry.partition(".dist-info")
        name = normal_name(stem.partition("-")[0])
        if info and name in distributions:
            record = f"{site}/{entry}/RECORD"
            files = _sizes_in_record(disk.text(record, RECORD_BYTES))
            found += [Recorded(files, record)] if f"{package}/__init__.py" in files else []
    return found[0] if len(found) == 1 else Recorded({}, "")


def _sizes_in_record(text: str) -> dict[str, int]:
    return {path: int(size) for path, size in recorded_files(text) if size and path.endswith((".py", ".so"))}


def unstartable(disk: Disk, home: str, name: str) -> Hole | None:
    """Why an import finds nothing in the folder of a package: it is gone, a link to nothing or closed to this user, or its __init__ is."""
    there = disk.sizes(home)
    starts = [entry for entry in there or () if entry.startswith("__init__.")]
    path = f"{home}/{starts[0]}" if starts else home
    if problem := disk.problem(path):
        return Hole(name, *problem, "")
    return None if starts or there is None else Hole(name, f"{home}/__init__.py", "missing", "nothing in its folder can be imported", "")


def holes(disk: Disk, home: str, spec: FrameworkSpec, absent: frozenset[str], lacking: frozenset[str] = frozenset()) -> list[Hole]:
    """What the import of the framework in the folder `home` lacks: the first file or module, and all packages that are absent and that others require.

    `absent` are the modules of packages that it requires and that are not installed, `lacking` those of the standard library that Python lacks.
    """
    if start := unstartable(disk, home, spec.name):
        return [start]
    incomplete = bool(lacking - _RARELY_IMPORTED)
    package = _package_of_framework(disk, home, spec)
    package = package.with_library(lacking) if incomplete else package
    required = Required(disk, _distribution_names(spec), spec.optional)
    lost = (package.unstated(spec.build) if spec.build else {}) | package.lost() | required.lost
    absent |= frozenset(name.replace("-", "_") for name in required.absent)
    stating = (module(file) for file, _ in (spec.version_files[name] for name in spec.distributions[:1] if name in spec.version_files))
    wrong = lost or absent or required.refused or required.for_numpy_1 or required.shadows or incomplete
    found = package.beside(required).first_hole((spec.name, *stating), lost, absent) if wrong else None
    found = found or package.lost_program(spec.programs)
    others = [Hole(name, "", "missing", "its package is not installed", "", by) for name, by in required.absent.items()]
    if found is None:
        return others
    owner = required.owners.get(found.path or found.asked_by, "")
    if found.kind in UNFIT:
        owner = owner or found.owner
        return [found._replace(owner=owner, pin=required.pin(owner), refusal=required.refused.get(owner))]
    others = [other for other in others if other.module.replace("-", "_") != found.module.partition(".")[0]] if not found.path else []
    return [found._replace(owner=owner), *others]


def hole(disk: Disk, home: str, spec: FrameworkSpec, absent: frozenset[str]) -> Hole | None:
    """The first of them; None if there is none."""
    return next(iter(holes(disk, home, spec, absent)), None)


def asking(disk: Disk, home: str, spec: FrameworkSpec, shadows: Mapping[str, str]) -> list[Hole]:
    """How the import of the framework asks for modules of the standard library, by the paths of the files that shadow them.

    Of those whose file lacks something that is used while modules are imported, this is said; of the others, which module asks first.
    """
    required = Required(disk, _distribution_names(spec), spec.optional)
    return _package_of_framework(disk, home, spec).with_library().beside(required).uses(spec.name, shadows)


def _package_of_framework(disk: Disk, home: str, spec: FrameworkSpec) -> WheelFiles:
    library = (spec.plugin.library,) if spec.plugin else ()
    return WheelFiles(disk, os.path.dirname(home), (spec.name, *library), _distribution_names(spec))


def _distribution_names(spec: FrameworkSpec) -> tuple[str, ...]:
    return (*spec.distributions, *((spec.plugin.library,) if spec.plugin else ()))
