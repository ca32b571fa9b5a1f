"""The environments of a machine and the Jupyter kernels that start them, in the layouts that the tools make."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.probe.environment_list import EnvironmentPlace, environments, jupyter_kernels

BASE = os.path.realpath(sys.executable)
SCRIPTS = [
    "#!{python}\nimport jupyter_core\n",
    '#!/bin/sh\n\'\'\'exec\' "{python}" "$0" "$@"\n',
    "#!/bin/sh\n'''exec' '{python}' \"$0\" \"$@\"\n",
    "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n",
    "#!/usr/bin/env python3\n",
]
"""How scripts begin that installers write; the last says nothing about the interpreter."""


def made(prefix: Path) -> Path:
    """A virtual environment."""
    subprocess.run([BASE, "-m", "venv", "--without-pip", str(prefix)], check=True)
    return prefix


def kernel(data: Path, name: str, program: str) -> None:
    """A kernel in a folder of Jupyter's data."""
    folder = data / "kernels" / name
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps({"argv": [program, "-m", "ipykernel_launcher"]}))


def seen(home: Path, path: str = "/nowhere", **variables: str) -> tuple[dict[str, EnvironmentPlace], dict[str, tuple[str, ...]]]:
    """The environments below the home folder, and the kernels that start them, by path."""
    environ = {"HOME": str(home), "PATH": path, **variables}
    places = environments(environ, str(home))
    started = jupyter_kernels(environ, tuple(place.prefix for place in places))
    return {place.prefix: place for place in places}, started


def test_a_kernel_lists_its_interpreter_wherever_it_is(tmp_path: Path) -> None:
    unusual = made(tmp_path / "deep/down/env")
    data = tmp_path / ".local/share/jupyter"
    kernel(data, "mine", str(unusual / "bin/python"))
    kernel(data, "old", "/gone/place/bin/python")
    places, started = seen(tmp_path)
    assert (places[str(unusual)].kind, started[str(unusual)]) == ("virtual environment", ("mine",))
    assert (places["/gone/place"].broken, started["/gone/place"]) == ("/gone/place/bin/python is gone", ("old",))


@pytest.mark.parametrize("variable", ["JUPYTER_DATA_DIR", "XDG_DATA_HOME", "JUPYTER_PATH"])
def test_the_folders_that_variables_name_hold_kernels(tmp_path: Path, variable: str) -> None:
    unusual = made(tmp_path / "deep/down/env")
    data = tmp_path / "data/jupyter"
    kernel(data, "mine", str(unusual / "bin/python"))
    _, started = seen(tmp_path, **{variable: str(data.parent if variable == "XDG_DATA_HOME" else data)})
    assert started[str(unusual)] == ("mine",)


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("linked", [False, True])
def test_a_kernel_that_names_no_folder_runs_where_the_jupyter_on_path_is(tmp_path: Path, script: str, linked: bool) -> None:
    tool, other = made(tmp_path / "my tools/jupyter"), made(tmp_path / "other/.venv")
    for prefix in (tool, other):
        kernel(prefix / "share/jupyter", "python3", "python")
    program = tool / "bin/jupyter"
    program.write_text(script.format(python=tool / "bin/python"))
    program.chmod(0o755)
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "jupyter").symlink_to(program)
    _, started = seen(tmp_path, str(folder if linked else tool / "bin"))
    assert started == {str(tool): ("python3",)}


def test_without_a_jupyter_on_path_each_environment_starts_its_own_kernel(tmp_path: Path) -> None:
    path, other = made(tmp_path / "one/.venv"), made(tmp_path / "other/.venv")
    for prefix in (path, other):
        kernel(prefix / "share/jupyter", "python3", "python")
    assert seen(tmp_path)[1] == {str(path): ("python3",), str(other): ("python3",)}


def test_the_base_of_a_virtual_environment_is_listed_too(tmp_path: Path) -> None:
    programs = tmp_path / "usr/bin"
    programs.mkdir(parents=True)
    (programs / "python3").symlink_to(BASE)
    (tmp_path / "project/.venv/bin").mkdir(parents=True)
    (tmp_path / "project/.venv/pyvenv.cfg").touch()
    (tmp_path / "project/.venv/bin/python").symlink_to(programs / "python3")
    assert {str(tmp_path / "project/.venv"), str(tmp_path / "usr")} <= seen(tmp_path, str(programs))[0].keys()


LAYOUTS = {
    "miniconda3/envs/a": "conda environment",
    ".local/share/mamba/envs/a": "conda environment",
    "project/.pixi/envs/default": "pixi environment",
    ".pyenv/versions/3.12.1": "pyenv",
    ".local/share/uv/python/cpython-3.12.1-linux-x86_64-gnu": "uv",
}


@pytest.mark.parametrize(("folder", "kind"), LAYOUTS.items())
def test_the_folders_of_each_tool_are_found_once(tmp_path: Path, folder: str, kind: str) -> None:
    prefix = tmp_path / folder
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python3").write_text("#!/bin/sh\n")
    (prefix / "bin/python3").chmod(0o755)
    if "environment" in kind:
        (prefix / "conda-meta").mkdir()
    environ = {"HOME": str(tmp_path), "PATH": str(prefix / "bin")}
    found = [
        environment for environment in environments(environ, str(tmp_path / "project")) if environment.prefix.startswith(str(tmp_path))
    ]
    assert [(place.prefix, place.kind) for place in found] == [(str(prefix), kind)]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
@pytest.mark.parametrize("folder", ["bin", "condabin"])
def test_an_environment_that_is_only_on_path_is_found(tmp_path: Path, mark: str, folder: str) -> None:
    prefix = tmp_path / "deep/down/env"
    for name in ("bin", folder):
        (prefix / name).mkdir(parents=True, exist_ok=True)
    (prefix / "bin/python").symlink_to(BASE)
    (prefix / mark).touch() if mark == "pyvenv.cfg" else (prefix / mark).mkdir()
    places, _ = seen(tmp_path, f"relative:{prefix / folder}")
    assert places[str(prefix)].kind == ("virtual environment" if mark == "pyvenv.cfg" else "conda environment")


@pytest.mark.parametrize("framework", [False, True])
@pytest.mark.parametrize("path", ["/nowhere", "{own}/bin"])
def test_our_own_environment_is_listed_if_it_has_a_framework(tmp_path: Path, framework: bool, path: str) -> None:
    own = made(tmp_path / "deep/down/env")
    environ = {"HOME": str(tmp_path), "PATH": path.format(own=own)}
    found = environments(environ, str(tmp_path), own=str(own), own_has_framework=framework)
    assert (str(own) in {place.prefix for place in found}) is framework
