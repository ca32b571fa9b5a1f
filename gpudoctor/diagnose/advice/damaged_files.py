"""Wording and fixes for files that are installed but cannot be loaded."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.derive import FrameworkView, MachineView
from gpudoctor.diagnose.advice.old_libraries import replace_old_library
from gpudoctor.diagnose.advice.packages import reinstall_packages
from gpudoctor.diagnose.advice.same_release import pin_and_index
from gpudoctor.diagnose.advice.shell import shell_path
from gpudoctor.diagnose.advice.standard_modules import complete_python
from gpudoctor.diagnose.advice.system import rename_file
from gpudoctor.findings import DOWNLOAD, ROOT, Fix, FixKind
from gpudoctor.snapshot import Damage, DamageKind, Distribution, Missing

_DAMAGE_TEXTS = {
    DamageKind.UNREADABLE: "cannot be read",
    DamageKind.NOEXEC: "cannot be loaded",
    DamageKind.ANOTHER_PYTHON: "cannot be loaded",
    DamageKind.MISSING: "is missing",
    DamageKind.LACKS_VERSION: "is too old",
    DamageKind.SHADOWED: "is not imported",
}
_REINSTALL_FOREIGN = {
    "conda": "Reinstall the conda package that contains {path}",
    "toolkit": "Reinstall the CUDA toolkit that contains {path}",
    "system": "Reinstall the system package that contains {path}; `dpkg -S` or `rpm -qf` names it",
}
_PATH_VARIABLE = "PYTHONPATH"
_FRAMEWORK_FILES = ("/", "libtorch", "libtensorflow", "libc10")
"""How the paths of missing files begin unless a system library is missing."""


def damage_text(damage: Damage) -> str:
    """Return what is wrong with a file: "/env/lib/libcudnn.so.9 is damaged (file too short)"."""
    if damage.kind is DamageKind.NOT_IN_PYTHON:
        return f"Python lacks its module {damage.path}, which {short_path(damage.asked_by)} imports"
    state = _DAMAGE_TEXTS.get(damage.kind, "is damaged")
    if damage.kind is DamageKind.LACKS_VERSION:
        state = f"{state} for {short_path(damage.asked_by)}"
    needed_by = f", which {short_path(damage.asked_by)} needs," if damage.asked_by and damage.kind is DamageKind.MISSING else ""
    return f"{posixpath.normpath(damage.path)}{needed_by} {state} ({damage.why})"


def short_path(path: str) -> str:
    """Return a short name for a file: the last two parts of a Python file's path, "requests/sessions.py"; of a library, the last one."""
    return "/".join(path.split("/")[-2:]) if path.endswith(".py") else path.rpartition("/")[2]


def make_readable(paths: Iterable[str]) -> Fix:
    """Return the fix that opens files and folders, with all in them, to every user."""
    return Fix("Make it readable by all users", f"sudo chmod -R a+rX {' '.join(map(shell_path, paths))}")


def replace_damaged(found: list[Damage], framework: FrameworkView) -> Iterator[Fix]:
    """Return fixes that repair or replace damaged files of a framework."""
    paths = tuple(dict.fromkeys(damage.path for damage in found))
    kinds = {damage.kind for damage in found}
    if found[0].kind is DamageKind.NOT_IN_PYTHON:
        yield from complete_python(found[0].path, framework.machine)
        return
    if found[0].kind is DamageKind.SHADOWED:
        yield rename_file(found[0].path.removesuffix(".py"))
        return
    if found[0].kind is DamageKind.LACKS_VERSION:
        yield from replace_old_library(found[0], framework.machine)
        return
    if kinds <= {DamageKind.UNREADABLE}:
        yield make_readable(paths)
        return
    if kinds <= {DamageKind.NOEXEC}:
        remount = f'sudo mount -o remount,exec "$(findmnt -n -o TARGET -T {shell_path(paths[0])})"'
        yield Fix("Remount the file system without noexec", remount)
        yield Fix("Recreate the environment on a file system without noexec.", kind=FixKind.INSTEAD)
        return
    without_path = unset_python_path(paths[0], framework.machine) if kinds <= {DamageKind.ANOTHER_PYTHON} else ()
    yield from without_path or _reinstall_damaged(found, framework)
    if DamageKind.LFS_POINTER in kinds:
        command = f"git -C {shell_path(paths[0].rpartition('/')[0])} lfs pull"
        yield Fix("Fetch the file with Git LFS if it is in a Git repository", command, (DOWNLOAD,), kind=FixKind.INSTEAD)


def unset_python_path(place: str, machine: MachineView) -> tuple[Fix, ...]:
    """Return the first step if PYTHONPATH leads to packages for another Python: until then an installer takes them for installed."""
    listed = (entry.rstrip("/") for entry in machine.variable(_PATH_VARIABLE).split(":") if entry)
    if not any(f"{place}/".startswith(f"{entry}/") for entry in listed):
        return ()
    return (Fix(f"Start Python without {_PATH_VARIABLE}, which adds packages of another Python", f"unset {_PATH_VARIABLE}"),)


def _reinstall_damaged(found: list[Damage], framework: FrameworkView) -> Iterator[Fix]:
    packages = tuple(_damaged_packages(found, framework))
    debian = framework.debian_package
    if debian and packages:
        yield Fix(f"Reinstall {debian}", f"sudo apt-get install --reinstall {debian}", (DOWNLOAD,))
    else:
        yield from _reinstall_builds(packages, framework)
    foreign = next((damage for damage in found if damage.owner in _REINSTALL_FOREIGN), None)
    if foreign is not None:
        yield Fix(_REINSTALL_FOREIGN[foreign.owner].format(path=foreign.path), needs=(ROOT, DOWNLOAD))


def _reinstall_builds(packages: Iterable[Distribution], framework: FrameworkView) -> Iterator[Fix]:
    """Return fixes that reinstall packages, those of the default index in one command; the framework in the build that is installed."""
    pin, index = pin_and_index(framework) or ("", "")
    by_index: dict[str, list[Distribution]] = {}
    for package in packages:
        if index and package.name == framework.observed.distribution:
            by_index[index] = [msgspec.structs.replace(package, version=pin.partition("==")[2])]
        else:
            by_index.setdefault("", []).append(package)
    for source, installed in by_index.items():
        title = f"Reinstall {' and '.join(package.name for package in installed)}"
        yield reinstall_packages(title, framework.machine.observed.python, *installed, index=source)


def _damaged_packages(found: Iterable[Damage], framework: FrameworkView) -> Iterator[Distribution]:
    """Return the installed distributions that contain these files: NVIDIA's packages, what the framework requires, else the framework."""
    stack, own = framework.environment.stack_or_missing, framework.observed.distribution
    installed = {} if isinstance(stack, Missing) else stack.distributions
    for name in dict.fromkeys(_owning_distribution(damage, own) for damage in found):
        if name == own and framework.release:
            yield Distribution(name, framework.release, installed[name].where if name in installed else "")
        elif name in installed:
            yield installed[name]
        elif version := framework.environment.versions.get(name):
            yield Distribution(name, version, "")


def _owning_distribution(damage: Damage, framework: str) -> str:
    """Return the distribution that contains a file; empty if no distribution in the environment does."""
    named = damage.owners[0] if damage.owners else damage.owner
    system_library = damage.kind is DamageKind.MISSING and not damage.path.startswith(_FRAMEWORK_FILES)
    if named in _REINSTALL_FOREIGN or system_library:
        return ""
    return named or framework
