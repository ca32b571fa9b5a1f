"""The Python environments of this machine: virtual and conda environments, interpreters of pyenv and uv, the system's, and Jupyter's kernels."""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping

import msgspec

from gpudoctor.regular_files import file_beginning

MAX_ENVIRONMENTS = 200
"""Environments that are listed; more are counted."""
_MAX_BYTES = 1 << 20
_VIRTUAL_KIND, _CONDA_KIND, _PIXI_KIND = "virtual environment", "conda environment", "pixi environment"
_NEARBY_FOLDERS = (".venv", "venv", "env", ".env", "*/.venv", "*/venv", ".pixi/envs/*", "*")
"""Below the current directory; any folder there with a pyvenv.cfg counts."""
_CONDA_FOLDERS = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba")
_HOME_FOLDERS = {
    _VIRTUAL_KIND: (
        *(".virtualenvs/*", ".venvs/*", "venvs/*", "envs/*", "venv", ".venv", ".local/share/virtualenvs/*"),
        *(".cache/pypoetry/virtualenvs/*", ".local/share/pipx/venvs/*", ".local/share/uv/tools/*"),
    ),
    _CONDA_KIND: (*_CONDA_FOLDERS, *(f"{root}/envs/*" for root in (*_CONDA_FOLDERS, ".conda", ".local/share/mamba"))),
    _PIXI_KIND: (".pixi/envs/*",),
    "pyenv": (".pyenv/versions/*",),
    "uv": (".local/share/uv/python/*",),
}
"""Below the home folder."""
_SYSTEM_FOLDERS = {
    _VIRTUAL_KIND: ("/opt/venv", "/opt/*/venv", "/opt/*", "/venv"),
    _CONDA_KIND: (*(f"/opt/{name}{envs}" for name in ("conda", "miniconda3", "anaconda3", "miniforge3") for envs in ("", "/envs/*")),),
}
_FOLDER_KINDS = (_VIRTUAL_KIND, _CONDA_KIND, _PIXI_KIND)
"""Kinds that a folder makes; several other interpreters may share one, such as /usr."""
_KERNEL_INTERPRETER = "interpreter of a Jupyter kernel"
_SCRIPT_INTERPRETER = re.compile(r"""#!(?:(?P<direct>/\S*python[\d.]*)\s*\n|/bin/sh\n'''exec' ["']?(?P<quoted>/[^"'\n]+?)["']? "\$0")""")
"""The beginning of a script that pip or uv installed: its interpreter, or a shell that starts it where the path is long or has spaces."""


class EnvironmentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One environment, as os.fsdecode gives its paths."""

    prefix: str
    executable: str
    kind: str
    """virtual environment, conda environment, pixi environment, pyenv, uv, system or interpreter of a Jupyter kernel."""
    active: bool = False
    broken: str = ""
    """Why its interpreter cannot be started; empty if it has one."""


def environments(
    environ: Mapping[str, str], cwd: str | None = None, *, own: str = "", own_has_framework: bool = False
) -> tuple[EnvironmentPlace, ...]:
    """The environments, the active one first, each once. Looks at names of folders only and starts nothing.

    `own` is the prefix of gpudoctor's environment, which is listed for being ours or on PATH only if it has a framework.
    """
    found: dict[str, EnvironmentPlace] = {}
    cwd = _current_directory() if cwd is None else cwd
    active = {os.path.realpath(path) for path in (environ.get("VIRTUAL_ENV", ""), environ.get("CONDA_PREFIX", "")) if os.path.isabs(path)}
    ours = (own,) if own_has_framework else ()
    on_path = (prefix for prefix in map(os.path.dirname, _path_folders(environ)) if prefix != own)
    for prefix, kind in (*_environment_prefixes(environ, cwd), *((prefix, _VIRTUAL_KIND) for prefix in (*ours, *on_path))):
        real = os.path.realpath(prefix)
        if real in found:
            continue
        place = _environment_place(prefix, kind, active=real in active)
        if place is not None:
            found[real] = place
    alone = {os.path.realpath(one.executable) for one in found.values() if one.kind != _VIRTUAL_KIND}
    for place in (*_kernel_environments(environ), *_system_interpreters(environ)):
        real = os.path.realpath(place.prefix if place.kind in _FOLDER_KINDS else place.executable)
        if real not in found and (place.kind in _FOLDER_KINDS or real not in alone):
            found[real] = place
    return tuple(sorted(found.values(), key=lambda one: (not one.active, one.prefix)))


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it is gone


def _environment_prefixes(environ: Mapping[str, str], cwd: str) -> Iterator[tuple[str, str]]:
    yield from ((path, _VIRTUAL_KIND) for path in [environ.get("VIRTUAL_ENV", "")] if os.path.isabs(path))
    yield from ((path, _CONDA_KIND) for path in [environ.get("CONDA_PREFIX", "")] if os.path.isabs(path))
    home = environ.get("HOME", "")
    yield from _matching_folders(cwd, {_VIRTUAL_KIND: _NEARBY_FOLDERS})
    yield from _parent_environments(cwd)
    if os.path.isabs(home):
        yield from _conda_environments(f"{home}/.conda/environments.txt")
        yield from _matching_folders(home, _HOME_FOLDERS)
    for name, kind, pattern in _FOLDER_VARIABLES:
        if os.path.isabs(environ.get(name, "")):
            yield from _matching_folders(environ[name], {kind: (pattern,)})
    if os.path.isabs(environ.get("CONDA_EXE", "")):
        root = os.path.dirname(os.path.dirname(environ["CONDA_EXE"]))
        yield from _matching_folders(root, {_CONDA_KIND: (".", "envs/*")})
    yield from _matching_folders("/", {kind: tuple(path.lstrip("/") for path in paths) for kind, paths in _SYSTEM_FOLDERS.items()})


_FOLDER_VARIABLES = (
    ("WORKON_HOME", _VIRTUAL_KIND, "*"),
    ("PYENV_ROOT", "pyenv", "versions/*"),
    ("UV_PYTHON_INSTALL_DIR", "uv", "*"),
    ("MAMBA_ROOT_PREFIX", _CONDA_KIND, "envs/*"),
)
"""Variables that name a folder of environments, with what is in it."""


def _matching_folders(folder: str, patterns: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    for kind, each in patterns.items():
        for pattern in each:
            for path in sorted(glob.iglob(os.path.join(glob.escape(folder), pattern)))[:MAX_ENVIRONMENTS]:
                yield os.path.normpath(path), kind


def _parent_environments(cwd: str) -> Iterator[tuple[str, str]]:
    folder = os.path.dirname(cwd)
    while folder != os.path.dirname(folder):
        yield f"{folder}/.venv", _VIRTUAL_KIND
        folder = os.path.dirname(folder)


def _conda_environments(file: str) -> Iterator[tuple[str, str]]:
    """conda's own list of environments."""
    try:
        lines = file_beginning(file, _MAX_BYTES).decode(errors="surrogateescape").splitlines()
    except OSError:
        return
    yield from ((line.strip(), _CONDA_KIND) for line in lines if os.path.isabs(line.strip()))


def _environment_place(prefix: str, kind: str, *, active: bool) -> EnvironmentPlace | None:
    """The environment in a folder; None if there is none."""
    if os.path.isfile(f"{prefix}/pyvenv.cfg"):
        kind = _VIRTUAL_KIND
    elif os.path.isdir(f"{prefix}/conda-meta"):
        kind = _PIXI_KIND if "/.pixi/envs/" in prefix else _CONDA_KIND
    elif kind not in {"pyenv", "uv"}:
        return None
    names = [f"{prefix}/bin/{name}" for name in ("python", "python3")]
    executable = next((name for name in names if os.path.isfile(name) and os.access(name, os.X_OK)), "")
    if executable:
        return EnvironmentPlace(prefix=prefix, executable=executable, kind=kind, active=active)
    if kind in {_CONDA_KIND, "pyenv", "uv"} and not any(map(os.path.lexists, names)):
        return None  # conda environments without Python, and versions that are being installed
    return EnvironmentPlace(prefix=prefix, executable=names[0], kind=kind, active=active, broken=_environment_fault(names))


def _environment_fault(names: list[str]) -> str:
    link = next((name for name in names if os.path.islink(name)), "")
    if link:
        return f"its base interpreter {os.path.realpath(link)} is gone"
    return f"{names[0]} is not executable" if os.path.exists(names[0]) else "it has no bin/python"


def _path_folders(environ: Mapping[str, str]) -> Iterator[str]:
    yield from filter(os.path.isabs, environ.get("PATH", os.defpath).split(os.pathsep))


def _system_interpreters(environ: Mapping[str, str]) -> Iterator[EnvironmentPlace]:
    """The interpreters on PATH and in /usr that belong to no environment."""
    for folder in dict.fromkeys((*_path_folders(environ), "/usr/local/bin", "/usr/bin")):
        if os.path.basename(folder) == "shims":
            continue
        for name in sorted(glob.glob(f"{glob.escape(folder)}/python3*")):
            if name.rpartition("python3")[2].lstrip(".").isdigit() or name.endswith("python3"):
                prefix = os.path.dirname(folder)
                if os.access(name, os.X_OK) and not os.path.exists(f"{prefix}/pyvenv.cfg") and not os.path.exists(f"{prefix}/conda-meta"):
                    yield EnvironmentPlace(prefix=prefix, executable=name, kind="system")


def jupyter_kernels(environ: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The names of the Jupyter kernels that start an environment, by its prefix."""
    found: dict[str, tuple[str, ...]] = {}
    by_real = {os.path.realpath(prefix): prefix for prefix in prefixes}
    jupyter = _jupyter_interpreter(environ)
    own = () if jupyter else tuple((name, command) for prefix in prefixes for name, command in _kernels_of_prefix(prefix))
    for name, command in (*_shared_kernels(environ, jupyter).items(), *own):
        prefix = by_real.get(os.path.realpath(_prefix_of_executable(command)), "")
        found[prefix] = (*found.get(prefix, ()), name)
    return {prefix: tuple(dict.fromkeys(names)) for prefix, names in found.items()}


def _kernel_environments(environ: Mapping[str, str]) -> Iterator[EnvironmentPlace]:
    """Yield what the kernels start that any Jupyter offers: also environments in unusual folders, and those that are gone."""
    for command in _shared_kernels(environ, _jupyter_interpreter(environ)).values():
        place = _environment_place(_prefix_of_executable(command), "kernel", active=False)
        if place is not None:
            yield place
        elif not os.path.exists(command):
            yield EnvironmentPlace(
                prefix=_prefix_of_executable(command), executable=command, kind=_KERNEL_INTERPRETER, broken=f"{command} is gone"
            )
        elif os.access(command, os.X_OK):
            yield EnvironmentPlace(prefix=_prefix_of_executable(command), executable=command, kind=_KERNEL_INTERPRETER)


def _prefix_of_executable(executable: str) -> str:
    return os.path.dirname(os.path.dirname(executable))


def _shared_kernels(environ: Mapping[str, str], jupyter: str) -> dict[str, str]:
    """The interpreter that each kernel starts, by the kernel's name, as the Jupyter of this interpreter finds it, "" for any Jupyter.

    A kernel whose command is just "python" runs in Jupyter's own environment.
    """
    user = environ.get("JUPYTER_DATA_DIR") or f"{environ.get('XDG_DATA_HOME') or environ.get('HOME', '') + '/.local/share'}/jupyter"
    own = f"{_prefix_of_executable(jupyter)}/share/jupyter"
    in_environment = any(os.path.exists(f"{_prefix_of_executable(jupyter)}/{name}") for name in ("pyvenv.cfg", "conda-meta"))
    first = (own, user) if in_environment else (user, own)
    paths = (*environ.get("JUPYTER_PATH", "").split(os.pathsep), *first, "/usr/local/share/jupyter", "/usr/share/jupyter")
    found: dict[str, str] = {}
    for folder in filter(os.path.isabs, paths):
        for name, command in _kernel_specs(folder):
            if os.path.isabs(command):
                found.setdefault(name, command)
            elif command.startswith("python") and jupyter:
                found.setdefault(name, jupyter)
    return found


def _kernels_of_prefix(prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the kernels in an environment, which its own Jupyter would start."""
    for name, command in _kernel_specs(f"{prefix}/share/jupyter"):
        if os.path.isabs(command) or command.startswith("python"):
            yield name, command if os.path.isabs(command) else f"{prefix}/bin/python"


def _kernel_specs(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the kernels in a folder of Jupyter's data, each with its program."""
    for file in sorted(glob.glob(f"{glob.escape(folder)}/kernels/*/kernel.json")):
        yield os.path.basename(os.path.dirname(file)), _kernel_program(file)


def _jupyter_interpreter(environ: Mapping[str, str]) -> str:
    """The interpreter of the jupyter on PATH, as its first lines name it; empty if there is none."""
    script = next((f"{one}/jupyter" for one in _path_folders(environ) if os.access(f"{one}/jupyter", os.X_OK)), "")
    try:
        named = _SCRIPT_INTERPRETER.match(file_beginning(script, _MAX_BYTES).decode(errors="surrogateescape")) if script else None
    except OSError:
        named = None
    beside = f"{os.path.dirname(os.path.realpath(script))}/python" if script else ""
    return (named["direct"] or named["quoted"]) if named is not None else beside


def _kernel_program(file: str) -> str:
    try:
        words = json.loads(file_beginning(file, _MAX_BYTES))["argv"]
        return str(words[0])
    except (OSError, ValueError, KeyError, IndexError, TypeError, RecursionError):
        return ""
