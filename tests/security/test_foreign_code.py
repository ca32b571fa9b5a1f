"""Code that lies around runs in no process of gpudoctor's own: neither from the current directory nor through Python's variables."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import GPUDOCTOR, ROOT, environment
from tests.machines import packages
from tests.probe.places import plant
from tests.seams.build import compiled

INSTALLED = str(Path(sys.executable).parent / "gpudoctor")
MODULES = ("msgspec", "typer", "rich", "packaging", "pynvml", "json", "select", "ctypes", "typing_extensions", "tomllib", "usercustomize")
PROGRAMS = ("python", "python3", "nvidia-smi", "nvcc", "gcc", "cc", "ldconfig", "uname", "ps", "git", "conda", "gpudoctor")
BEFORE_US = ("sitecustomize", "re")
"""Modules that Python, or the script that pip made, imports before gpudoctor's first line."""


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder full of code that leaves a file if it runs."""
    place = tmp_path_factory.mktemp("trap")
    marks = place / "marks"
    marks.mkdir()
    code = {f"{name}.py": f"open({str(marks / name)!r}, 'w').close()\n" for name in (*MODULES, *BEFORE_US)}
    code |= {f"{folder}{name}": f"#!/bin/sh\n: > {marks}/{name}\n" for name in PROGRAMS for folder in ("", "bin/")}
    code |= {
        "evil.pth": f"import pathlib; pathlib.Path({str(marks / 'pth')!r}).touch()\n",
        "evil-1.dist-info/entry_points.txt": "[gpudoctor]\nevil = msgspec\n[jax_plugins]\nevil = msgspec\n[rich]\nevil = msgspec\n",
        "evil-1.dist-info/METADATA": "Name: evil\nVersion: 1\n",
        "pyvenv.cfg": "home = .\ninclude-system-site-packages = false\n",
        "gpudoctor.toml": "level = 'loud'\n",
    }
    plant(place, code)
    for name in PROGRAMS:
        (place / name).chmod(0o755)
        (place / "bin" / name).chmod(0o755)
    return place


def ran(trap: Path, command: tuple[str, ...], **variables: str | None) -> list[str]:
    """Return what ran of the trap during a command."""
    uncovered = {"COVERAGE_PROCESS_CONFIG": None, **variables}  # coverage imports `re` before us, and keeps that of the trap
    done = subprocess.run(command, cwd=trap, env=environment(**uncovered), capture_output=True, timeout=60, check=False)
    assert done.returncode in {0, 1, 3}, done.stderr
    marks = sorted((trap / "marks").iterdir())
    for mark in marks:
        mark.unlink()
    return [mark.name for mark in marks]


LOOK = ("check", "--no-smoke", "--format", "oneline")


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        ((INSTALLED, *LOOK), {"PATH": ".:bin::/usr/bin:/bin", "VIRTUAL_ENV": ".", "CONDA_PREFIX": "bin/.."}),
        ((INSTALLED, *LOOK), {"PYTHONPATH": ".:bin"}),
        ((INSTALLED, *LOOK), {"PYTHONPATH": ":/nowhere"}),
        ((INSTALLED, *LOOK), {"PYTHONPATH": "{trap}"}),
        ((INSTALLED, "diagnose", "evil-1.dist-info/METADATA"), {"PYTHONPATH": "."}),
        ((INSTALLED, "xray"), {"PYTHONPATH": "."}),
        ((*GPUDOCTOR, *LOOK), {}),
    ],
)
def test_nothing_in_the_current_directory_runs(trap: Path, command: tuple[str, ...], variables: dict[str, str]) -> None:
    given = {name: value.format(trap=trap) for name, value in variables.items()}
    before = set(BEFORE_US) if "PYTHONPATH" in given or command[: len(GPUDOCTOR)] == GPUDOCTOR else set()
    examined = {"--python", sys.executable} if "check" in command and "PATH" not in given else set()
    assert set(ran(trap, (*command, *sorted(examined)), **given)) <= before


@pytest.mark.parametrize("module", ["types", "typing", "enum", "ctypes", "json", "functools", "dataclasses", "shlex", "msgspec"])
def test_a_file_on_pythonpath_shadows_no_module_of_pythons_own(tmp_path: Path, module: str) -> None:
    plant(tmp_path / "path", {f"{module}.py": "raise SystemExit(77)\n"})
    command = (INSTALLED, *LOOK, "--python", sys.executable)
    given = environment(COVERAGE_PROCESS_CONFIG=None, PYTHONPATH=str(tmp_path / "path"))
    done = subprocess.run(command, env=given, cwd="/", capture_output=True, timeout=60, check=False)
    assert done.returncode == (77 if module == "msgspec" else done.returncode)
    assert module == "msgspec" or done.returncode in {0, 1, 3}, done.stderr


def test_isolated_python_runs_nothing_of_it_at_all(trap: Path) -> None:
    assert ran(trap, (sys.executable, "-I", "-m", "gpudoctor", *LOOK), PYTHONPATH=".:bin", PATH=".:bin") == []


def test_python_variables_reach_the_examined_python_only(tmp_path: Path) -> None:
    """A sitecustomize.py writes down in which program it runs."""
    log = tmp_path / "log"
    code = f"import sys\nwith open({str(log)!r}, 'a') as log: log.write(repr(sys.orig_argv) + '\\n')\n"
    plant(tmp_path / "site", {"sitecustomize.py": code, "startup.py": code, "pynvml.py": code, "ctypes.py": code + "raise ImportError\n"})
    injected = {"PYTHONPATH": str(tmp_path / "site"), "PYTHONSTARTUP": str(tmp_path / "site/startup.py"), "PYTHONINSPECT": "1"}
    command = (sys.executable, "-I", "-m", "gpudoctor", *LOOK, "--python", sys.executable)
    done = subprocess.run(command, env=environment(**injected), capture_output=True, timeout=60, check=False)
    assert done.returncode in {0, 1, 3}, done.stderr
    programs = log.read_text().splitlines()
    assert programs
    assert all("children/target/python_probe.py" in program for program in programs)


WRITES_DOWN = """
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

unsigned la_version(unsigned version) { return version; }

__attribute__((constructor)) static void write_down(void)
{
    static char words[1 << 16];
    int program = open("/proc/self/cmdline", O_RDONLY), log = open(getenv("LOADED_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600);
    ssize_t length = read(program, words, sizeof words - 1);
    for (ssize_t i = 0; i < length; i++)
        if (!words[i]) words[i] = ' ';
    words[length] = '\\n';
    if (write(log, words, (size_t)length + 1) < 0) abort();
    close(program);
    close(log);
}
"""
"""A library that writes down which program loads it."""
LOADS_THE_DRIVER = {"own/nvml_probe.py", "own/nvml_load.py"}
"""Scripts of ours that load NVIDIA's libraries as the examined environment would, with what it preloads."""


def programs_of_ours() -> set[str]:
    """Return the scripts that gpudoctor's own interpreter runs."""
    folder = ROOT / "gpudoctor/children/own"
    return {f"own/{file.name}" for file in folder.glob("*.py") if "\nmain()\n" in file.read_text()}


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "LD_AUDIT"])
def test_preloaded_libraries_reach_only_scripts_that_load_the_driver_or_run_in_the_examined_python(variable: str, tmp_path: Path) -> None:
    log, library = tmp_path / "log", str(compiled(WRITES_DOWN, "written.so", []))
    python = packages.environment(tmp_path / "environment", (packages.torch("2.6.0", "12.4"),))
    injected = environment(**{variable: library, "LOADED_LOG": str(log)})
    command = (INSTALLED, "check", "--no-smoke", "--format", "json", "--python", str(python))
    done = subprocess.run(command, env=injected, capture_output=True, timeout=60, check=False)
    seen = json.loads(done.stdout)["snapshot"]["libraries"]
    assert [one["framework"] for one in seen["frameworks"]] == ["torch"], "the script that looks for libraries ran"
    told = [str(Path(one).expanduser()) for one in seen.get("preloaded", ())]
    assert told == ([library] if variable == "LD_PRELOAD" else []), "it is told what the examined environment preloads"
    scripts = set(re.findall(r"/children/(\S+\.py)", log.read_text()))
    assert scripts & programs_of_ours() == {"own/nvml_probe.py"}
    assert {script.partition("/")[0] for script in scripts - LOADS_THE_DRIVER} == {"target"}


def test_each_script_of_ours_is_known_to_load_the_driver_or_not() -> None:
    assert programs_of_ours() - LOADS_THE_DRIVER == {"own/libraries_probe.py"}
