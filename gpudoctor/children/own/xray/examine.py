"""The X-ray of one environment, or of single files, in plain dictionaries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gpudoctor.children.own.xray import triton, xla
from gpudoctor.children.own.xray.components import component
from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.children.own.xray.extensions import extensions
from gpudoctor.children.own.xray.old_libraries import LACKS_VERSION, old_libraries
from gpudoctor.children.own.xray.patient import Around, Patient, damage, missing, nearby, places
from gpudoctor.children.own.xray.python_files import NOT_IN_PYTHON, UNFIT, Hole, asking, holes
from gpudoctor.children.own.xray.refused_variables import refused_variables
from gpudoctor.children.own.xray.unresolved import unresolved
from gpudoctor.children.own.xray.wanted import WantedFramework, loading
from gpudoctor.elf.loader import Loader, LoaderSetting
from gpudoctor.elf.system import CannotLoad, FileTree
from gpudoctor.frameworks import spec_of

Say = Callable[[dict[str, Any]], None]
Mark = Callable[[str], None]


class Task:
    """What to examine: the target's interpreter and sys.path, its environment, its frameworks."""

    def __init__(self, executable: str, path: Iterable[str], environ: Mapping[str, str], root: str = "/") -> None:
        self.executable = executable
        self.path = tuple(path)
        self.environ = environ
        self.root = root
        self.frameworks: list[WantedFramework] = []
        self.mapped: list[str] = []
        """Libraries that something opens while Python starts."""
        self.shadowed: dict[str, str] = {}
        """The files that shadow modules of the standard library, by module."""
        self.lacking: frozenset[str] = frozenset()
        """The modules of the standard library that the target's Python does not have."""
        self.absent: dict[str, str] = {}
        """By framework: the modules of packages that it requires and that are not installed, with commas."""


_SYSTEM_PREFIX = "/usr"
"""The prefix of a system's own Python, which is examined below another root as all of that machine is."""


def around(task: Task) -> Around:
    """The simulated process. Raises CannotLoad if its interpreter cannot be read."""
    library_path = task.environ.get("LD_LIBRARY_PATH", "")
    prefix = os.path.dirname(os.path.dirname(task.executable))
    binary = os.path.realpath(task.executable)
    base = os.path.dirname(os.path.dirname(binary))
    preload = task.environ.get("LD_PRELOAD", "")
    named = [
        os.path.dirname(file)
        for file in (*preload.replace(":", " ").split(), *task.mapped, *(framework.home for framework in task.frameworks))
    ]
    folders = [
        folder for folder in (*task.path, *library_path.split(":"), *named, prefix, base) if len(folder) > 1 and folder != _SYSTEM_PREFIX
    ]
    system = FileTree(
        task.root, [] if prefix == _SYSTEM_PREFIX else [*folders, binary]
    )  # it runs here, although /usr is the other machine's
    program = system.real(task.executable)
    elf = system.elf(program)
    if elf is None:
        raise CannotLoad(f"{program} does not exist")
    if "musl" in elf.interpreter:
        raise CannotLoad("its C library is musl, whose loader gpudoctor does not simulate")
    defaults = system.defaults(elf.interpreter, elf.machine, elf.bits)
    setting = LoaderSetting(defaults, system.cache(elf.machine, elf.bits), library_path, preload)
    prefixes = [folder for folder in (prefix, task.environ.get("CONDA_PREFIX", "")) if folder.startswith("/")]
    shared = Around(system, Disk(system, task.path, tuple(prefixes)), setting, program)
    shared.mapped = task.mapped
    return shared


def environment(task: Task, say: Say, mark: Mark) -> None:
    """Send a line for each framework, then each extension, then the preloads; or why nothing can be examined."""
    mark("reading the interpreter")
    try:
        shared = around(task)
    except CannotLoad as refused:
        say(missing("failed", f"the loader could not be simulated for {task.executable}: {refused.reason}"))
        return
    for wish in task.frameworks:
        mark(f"looking at {wish.name}")
        try:
            said = _framework_libraries(shared, wish, task.environ)
            said |= _missing_python_files(shared, said, wish, task)
            said |= _refused_variables(shared, wish, task.environ)
            say({**said, **_shadowed_modules(shared, wish, task.shadowed)})
        except Exception as error:  # noqa: BLE001 -- a defect of ours costs one framework, and is said
            crash = crashed(error)
            say({"type": "framework-libraries", "framework": wish.name, "code": crash, "uses": crash})
    mark("looking at extensions")
    names = [wish.name for wish in task.frameworks]
    cuda = dict(zip(names, [wish.cuda for wish in task.frameworks], strict=True))
    homes = dict(zip(names, [wish.home for wish in task.frameworks], strict=True))
    for extension in extensions(shared, cuda, homes):
        say(extension)
    say({"type": "libraries", "preloaded": task.environ.get("LD_PRELOAD", "").replace(":", " ").split()})


def crashed(error: Exception) -> dict[str, str]:
    """A missing value for an exception in our own code, with its location."""
    trace, place = error.__traceback__, ""
    while trace is not None:
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return missing("crashed", f"gpudoctor's X-ray crashed: {type(error).__name__} ({error}) in {place}")


def _framework_libraries(shared: Around, wish: WantedFramework, environ: Mapping[str, str]) -> dict[str, Any]:
    said: dict[str, Any] = {"type": "framework-libraries", "framework": wish.name}
    try:
        patient, own = loading(wish.name)(wish, shared)
    except CannotLoad as refused:
        return {**said, "uses": missing("failed", refused.reason)}
    objects = [found for path in own if (found := _library_file(shared, path)) is not None]
    uses: Any = list(patient.uses.values())
    holding = [library for library in objects if library["code"]["type"] == "gpu-code"]
    most = max(holding, key=lambda one: _code_size(shared, one["path"]), default=None)
    spec = spec_of(wish.name)
    if spec.xla and most is not None:
        uses += xla.uses(shared, most["path"], environ, xla.preferred(shared.disk, spec.xla_folders))
    if spec.triton:
        uses += triton.uses(shared, environ)
    if most is not None:
        few = most["code"]["few"]
        kinds = {kind: [name for name in most["code"][kind] if name not in few] for kind in ("sass", "ptx")}
        said.update(code={"type": "gpu-code", **kinds}, code_where=most["path"])
    else:
        said["code"] = (
            missing("absent", f"no file of {wish.name} has GPU code") if objects else missing("absent", "none of its files exists")
        )
    taken = {use["file"].get("path") for use in uses}
    also = [library.path for library in patient.loader.objects if component(library.name) is not None and library.path not in taken]
    for path in own:
        _record_unloadable(patient, path)
    for old in old_libraries(patient):
        patient.break_off(old.library.path, LACKS_VERSION, old.why, old.needed_by, instead=old.instead)
    lacking = unresolved(shared, patient.loader.objects)
    uses = missing("failed", patient.unknown) if patient.unknown else uses
    mapped = sum(library.elf.span for library in patient.loader.objects)
    return {
        **said,
        "mapped": mapped,
        "objects": objects,
        "uses": uses,
        "also_loaded": also,
        "broken": list(patient.broken.values()),
        "unresolved": lacking,
    }


def _missing_python_files(shared: Around, said: dict[str, Any], wish: WantedFramework, task: Task) -> dict[str, Any]:
    """What the import of the framework's Python files lacks: one of them, or a module of another package or of the standard library."""
    spec = spec_of(wish.name)
    absent = frozenset(filter(None, task.absent.get(wish.name, "").split(",")))
    found = holes(shared.disk, wish.home, spec, absent, task.lacking)
    first = next(iter(found), None)
    if first is not None and first.kind in UNFIT:
        return {"unfit_modules": [_unfit(first)]}
    library = spec.plugin.library if spec.plugin else ""
    lacking = []
    for one in found:
        of_library = library and one.path.startswith(f"{os.path.dirname(wish.home)}/{library}/")
        owners = [one.owner or library] if one.owner or of_library else []
        lacking.append(damage(one.path or one.module, one.kind, one.why, owners) | {"asked_by": one.asked_by})
    if first is not None and (first.path or first.kind == NOT_IN_PYTHON):
        return {"broken": [*said.get("broken", ()), *lacking]}
    return {"absent_modules": lacking} if lacking else {}


def _unfit(found: Hole) -> dict[str, Any]:
    refusal = {"requirement": found.refusal.requirement, "required_by": found.refusal.by} if found.refusal else {}
    said = {"type": "unfit-module", "module": found.module, "path": found.path, "kind": found.kind, "why": found.why}
    return {**said, "asked_by": found.asked_by, "owner": found.pin, **refusal}


def _shadowed_modules(shared: Around, wish: WantedFramework, shadows: Mapping[str, str]) -> dict[str, Any]:
    """The modules of the standard library that the framework's import asks for and that other files shadow."""
    asked = asking(shared.disk, wish.home, spec_of(wish.name), shadows) if shadows else []
    return {"shadowed_modules": [damage(one.module, one.kind, one.why, []) | {"asked_by": one.asked_by} for one in asked]} if asked else {}


def _refused_variables(shared: Around, wish: WantedFramework, environ: Mapping[str, str]) -> dict[str, Any]:
    """The environment variables that stop the framework's import."""
    found = refused_variables(shared.disk, os.path.dirname(wish.home), spec_of(wish.name).accepted_values, environ)
    said = [{"type": "refused-variable", "name": name, "value": value, "why": why} for name, value, why in found]
    return {"refused_variables": said} if said else {}


def _record_unloadable(patient: Patient, path: str) -> None:
    """Record a file of the framework's own that exists but cannot be loaded."""
    try:
        patient.around.system.elf(path)
    except CannotLoad as refused:
        patient.break_off(refused.closed or path, refused.kind, refused.reason)


def _code_size(shared: Around, path: str) -> int:
    elf = shared.system.elf(path)
    return sum(size for _, _, size in elf.sections) if elf is not None else 0


def _library_file(shared: Around, path: str) -> dict[str, Any] | None:
    try:
        elf = shared.system.elf(path)
    except CannotLoad as refused:
        return {"type": "library-file", "path": path, "code": missing("failed", refused.reason)}
    if elf is None:
        return None
    if not elf.sections and not any(component(name) for name in elf.needed):
        return None
    return {"type": "library-file", "path": path, "real": shared.disk.real(path), "soname": elf.soname, "code": shared.code(path)}


def single(task: Task, path: str, say: Say) -> None:
    """Send what one file needs, what it would get, and its GPU code, as if the target's interpreter opened it."""
    try:
        shared = around(task)
        elf = shared.system.elf(path)
    except CannotLoad as refused:
        say({"type": "unread-file", "path": path, "problem": refused.reason})
        return
    if elf is None:
        say({"type": "unread-file", "path": path, "problem": "no such file"})
        return
    loader = Loader(shared.system, shared.setting)
    if elf.bits != 64 or elf.machine != os.uname().machine:
        found = []
    else:
        loader.start(shared.program)
        assert loader.main is not None  # noqa: S101 -- start() ended well
        found = loader.open(path, loader.main, shadows=True).resolutions[1:]
    needs: dict[str, dict[str, Any]] = {}
    for lookup in found:
        needs.setdefault(lookup.wanted, _library_need(shared, lookup, direct=lookup.wanted in elf.needed))
    say({
        "type": "file", "path": path, "machine": f"{elf.bits}-bit {elf.machine}", "soname": elf.soname, "rpath": elf.rpath,
        "runpath": elf.runpath or "", "needed": list(elf.needed), "code": shared.code(path), "needs": list(needs.values()),
    })  # fmt: skip


def _library_need(shared: Around, one: Any, *, direct: bool) -> dict[str, Any]:
    part = component(one.wanted) or ""
    taken = one.found.path if one.found else ""
    return {
        "wanted": one.wanted,
        "asked_by": one.asked_by.path,
        "direct": direct,
        "path": taken,
        "why": one.way.words,
        "problem": one.problem,
        "looked_in": [] if one.found else one.looked_in,
        "shadows": places((path, way.words, way.by) for path, way in one.shadows),
        "elsewhere": nearby(shared.disk.elsewhere(one.wanted, taken)) if part else [],
    }
