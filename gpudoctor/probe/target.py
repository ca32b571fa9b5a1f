"""Which interpreter and environment to examine, and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.probe.frameworks import has_framework
from gpudoctor.snapshot import printable_text

_RAY_JOB_VARIABLE = "RAY_JOB_ID"
"""The variable that Ray sets in its tasks: ray/_private/ray_constants.py."""


class Target(msgspec.Struct, frozen=True):
    """The interpreter to examine: the path that starts it, as os.fsdecode gives it."""

    executable: str
    why: str
    named: bool = False
    """Whether the user named it explicitly."""


def suggested_target(own: str, environ: Mapping[str, str], *, own_has_framework: bool = False) -> Target:
    """The first of five: our own environment if it has a framework, the active virtual or conda environment, PATH's python, ours."""
    passed_over = ""
    if own_has_framework:
        return Target(own, "gpudoctor is installed in this environment, beside a framework")
    for variable, what in (("VIRTUAL_ENV", "active virtual environment"), ("CONDA_PREFIX", "active conda environment")):
        prefix = environ.get(variable, "")
        executable = _interpreter_of_environment(prefix) if prefix else None
        if executable:
            return Target(executable, f"the {what}{passed_over}")
        if prefix:
            passed_over += f" (the {what} {printable_text(prefix)} has no interpreter)"
    others = [folder for folder in _path_folders(environ) if folder != os.path.dirname(own)]  # uvx puts ours first on PATH
    for name in ("python", "python3"):
        executable = _program_on_path(name, others)
        if executable:
            return Target(executable, f"the first {name} on PATH; no environment is active{passed_over}")
    return Target(own, f"gpudoctor's own; no other was found{passed_over}")


def named_target(path: str, search: Iterable[str] = ()) -> Target:
    """The target that the user names: an interpreter, an environment's folder, or a command in the folders `search`.

    Raises UsageError if it cannot be started.
    """
    place = _absolute_path(path)
    if "/" not in path and not os.path.exists(place):
        place = _program_on_path(path, search) or place
    executable = _interpreter_of_environment(place) if os.path.isdir(place) else place
    if executable is None or not _is_startable(executable):
        raise _lost_base_error(path, place) or no_interpreter_error(path, _path_fault(place))
    return Target(executable, "named with --python", named=True)


def _absolute_path(path: str) -> str:
    """Return a path from the root; empty if there is none, because the current directory is gone."""
    try:
        return os.path.abspath(path) if path else ""
    except OSError:
        return ""


def no_interpreter_error(path: str, why: str) -> UsageError:
    """The error for a --python that names no interpreter; `why` is a clause."""
    shown = printable_text(path)
    return UsageError(f"--python {shown}: not a Python interpreter ({why}); name an interpreter or the folder of an environment.")


def _path_fault(place: str) -> str:
    """Why a path can neither be started nor searched."""
    if dangling := _dangling_link(place):
        return f"{printable_text(dangling)} is a link to {printable_text(os.path.realpath(dangling))}, which does not exist"
    if closed := next((path for path in (place, f"{place}/bin/python") if _is_permission_denied(path)), ""):
        return f"permission denied{f', a link to {printable_text(os.path.realpath(closed))}' if os.path.islink(closed) else ''}"
    if os.path.isdir(place):
        return "the folder has no bin/python"
    return "the file is not executable" if place and os.path.lexists(place) else "no such file or folder"


def _is_permission_denied(path: str) -> bool:
    """Return whether this user may not reach a path."""
    try:
        os.stat(path)
    except PermissionError:
        return True
    except (OSError, ValueError):
        pass
    return False


def _dangling_link(place: str) -> str:
    """Return the link that an interpreter or an environment's folder hangs on, if its target is gone; otherwise empty."""
    links = (place, f"{place}/bin/python", f"{place}/bin/python3")
    return next((path for path in links if os.path.islink(path) and not os.path.exists(path) and not _is_permission_denied(path)), "")


def _lost_base_error(path: str, place: str) -> UsageError | None:
    """Return the error for a virtual environment whose base interpreter is gone; None if this is not one."""
    dangling = _dangling_link(place)
    prefix = os.path.dirname(os.path.dirname(dangling))
    if not dangling or not os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
        return None
    return UsageError(
        f"--python {printable_text(path)}: the base interpreter of this virtual environment, {printable_text(os.path.realpath(dangling))}, is gone; "
        f"reinstall that Python, or recreate the environment: python3 -m venv --clear {printable_text(prefix)}."
    )


def chosen_target(python: str | None, environ: Mapping[str, str], own: str, own_path: Iterable[str]) -> Target:
    """The target that `python` names, otherwise the one that the surroundings suggest; `own_path` is our own sys.path."""
    if python is not None:
        found = named_target(python, _path_folders(environ))
        of_ray = _RAY_JOB_VARIABLE in environ and found.executable == own  # `fleet check` names it if the user names none
        return msgspec.structs.replace(found, why="the environment of Ray tasks") if of_ray else found
    return suggested_target(own, environ, own_has_framework=has_framework(folder for folder in own_path if folder.endswith("-packages")))


def _path_folders(environ: Mapping[str, str]) -> list[str]:
    return environ.get("PATH", os.defpath).split(os.pathsep)


def _is_startable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _first_startable(paths: Iterator[str]) -> str | None:
    return next((path for path in paths if _is_startable(path)), None)


def _interpreter_of_environment(prefix: str) -> str | None:
    """The interpreter of an environment; not resolved, because the link is what makes it a virtual environment's."""
    if not os.path.isabs(prefix):
        return None
    return _first_startable(os.path.join(prefix, "bin", name) for name in ("python", "python3"))


def _program_on_path(name: str, folders: Iterable[str]) -> str | None:
    """As a shell finds it, but never in the current directory."""
    return _first_startable(os.path.join(folder, name) for folder in folders if os.path.isabs(folder))
