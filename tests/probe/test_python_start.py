"""What the start of the target's Python changes in its variables: the snapshot has what a real program has, and the file that changes it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.snapshot import Libcuda, Missing, Python, Variables
from gpudoctor.snapshot.variable_names import READ_LATE, WHOLE
from tests.probe.places import EMPTY, look, plant
from tests.probe.test_children import FOUND
from tests.seams import Cuda, Nvml

Shims = Callable[..., dict[str, str]]
SETS = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '7'; os.environ['JAX_PLATFORMS'] = 'cpu'"
UNSETS = "import os; os.environ.pop('CUDA_VISIBLE_DEVICES', None)"
NEWEST = [next(version for version in FOUND if version.startswith(minor)) for minor in ("3.13.", "3.8.", "3.6.")]
ASKING = "import json, os; print(json.dumps(dict(os.environ)))"


def sitecustomize(site: Path, text: str) -> Path:
    (site / "sitecustomize.py").write_text(f"{text}\n")
    return site / "sitecustomize.py"


def path_file(site: Path, text: str) -> Path:
    (site / "gpu.pth").write_text(f"{text}\n")
    return site / "gpu.pth"


def module_of_path_file(site: Path, text: str) -> Path:
    (site / "company_gpu.py").write_text(f"{text}\n")
    (site / "gpu.pth").write_text("import company_gpu\n")
    return site / "company_gpu.py"


def module_of_sitecustomize(site: Path, text: str) -> Path:
    (site / "sitecustomize.py").write_text("import company_gpu\n")
    (site / "company_gpu.py").write_text(f"{text}\n")
    return site / "company_gpu.py"


WAYS = (sitecustomize, path_file, module_of_path_file, module_of_sitecustomize)


def venv(place: Path, version: str) -> Path:
    """Return its folder of packages."""
    subprocess.run([FOUND[version], "-m", "venv", "--without-pip", str(place)], check=True)
    return next(place.glob("lib/python3*/site-packages"))


def wrapped(place: Path, statement: str) -> Path:
    """Return a script in place of the interpreter."""
    script = place / "python"
    script.write_text(f'#!/bin/sh\n{statement}\nexec {place}/bin/python "$@"\n')
    script.chmod(0o755)
    return script


def really(python: Path, environ: dict[str, str]) -> dict[str, str]:
    done = subprocess.run([str(python), "-c", ASKING], env=environ, capture_output=True, check=True)
    return {name: value for name, value in json.loads(done.stdout).items() if name in WHOLE}


def looked(python: Path, environ: dict[str, str]) -> Variables:
    snapshot, _ = look(ProbeScope(python=str(python)), environ)
    assert isinstance(snapshot.variables, Variables)
    return snapshot.variables


@pytest.mark.parametrize("version", NEWEST)
@pytest.mark.parametrize("way", WAYS)
def test_variables_are_those_of_a_program(tmp_path: Path, way: Callable[[Path, str], Path], version: str) -> None:
    file = way(venv(tmp_path, version), SETS)
    environ = {**EMPTY, "CUDA_VISIBLE_DEVICES": "0", "CUDA_LAUNCH_BLOCKING": "1"}
    seen = looked(tmp_path / "bin/python", environ)
    assert seen.values == really(tmp_path / "bin/python", environ)
    assert seen.values["JAX_PLATFORMS"] == "cpu"
    assert seen.set_by == {"CUDA_VISIBLE_DEVICES": str(file), "JAX_PLATFORMS": str(file)}


def test_a_variable_that_the_start_unsets_is_not_set(tmp_path: Path) -> None:
    file = sitecustomize(venv(tmp_path, NEWEST[0]), UNSETS)
    seen = looked(tmp_path / "bin/python", {**EMPTY, "CUDA_VISIBLE_DEVICES": "0"})
    assert (seen.values, seen.set_by) == ({}, {"CUDA_VISIBLE_DEVICES": str(file)})


def test_a_wrapper_script_sets_what_the_loader_reads_too(tmp_path: Path) -> None:
    venv(tmp_path, NEWEST[0])
    script = wrapped(tmp_path, "export CUDA_VISIBLE_DEVICES=7 LD_LIBRARY_PATH=/opt/lib")
    seen = looked(script, EMPTY)
    assert seen.values == really(script, EMPTY) == {"CUDA_VISIBLE_DEVICES": "7", "LD_LIBRARY_PATH": "/opt/lib"}
    assert seen.set_by == dict.fromkeys(seen.values, str(script))


def test_what_is_read_before_the_start_stays_as_given(tmp_path: Path) -> None:
    late = "import os; os.environ.update(LD_LIBRARY_PATH='/late', NVIDIA_VISIBLE_DEVICES='none', CUDA_HOME='/late')"
    sitecustomize(venv(tmp_path, NEWEST[0]), late)
    seen = looked(tmp_path / "bin/python", {**EMPTY, "LD_LIBRARY_PATH": "/given"})
    assert seen.values == {"LD_LIBRARY_PATH": "/given", "CUDA_HOME": "/late"}
    assert {"LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "PYTHONPATH", "SLURM_JOB_ID"}.isdisjoint(READ_LATE)


def test_a_file_that_cannot_be_found_is_not_invented(tmp_path: Path) -> None:
    sitecustomize(venv(tmp_path, NEWEST[0]), "import os; os.environ['CUDA_VISIBLE' + '_DEVICES'] = ''")
    seen = looked(tmp_path / "bin/python", EMPTY)
    assert (seen.values, seen.set_by) == ({"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": ""})


def test_a_start_that_only_mentions_a_given_variable_does_not_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {**EMPTY, "CUDA_VISIBLE_DEVICES": "0"}
    sitecustomize(venv(tmp_path, NEWEST[0]), "import os; os.environ.setdefault('CUDA_VISIBLE_DEVICES', '0')")
    monkeypatch.setattr("gpudoctor.probe.python_start._own_start_variables", lambda: environ)
    assert looked(tmp_path / "bin/python", environ).set_by == {}


def test_a_value_that_our_own_start_set_has_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """gpudoctor in the examined environment has run its sitecustomize itself."""
    file = sitecustomize(venv(tmp_path, NEWEST[0]), SETS)
    monkeypatch.setattr("gpudoctor.probe.python_start._own_start_variables", dict)
    set_at_start = {"CUDA_VISIBLE_DEVICES": "7", "JAX_PLATFORMS": "cpu"}
    assert looked(tmp_path / "bin/python", EMPTY | set_at_start).set_by == dict.fromkeys(set_at_start, str(file))


@pytest.mark.parametrize(
    ("given", "statement", "counts"),
    [("", SETS, (0, 2)), ("0", SETS, (0, 2)), ("0", UNSETS, (2, None)), ("", SETS.replace("7", "1"), (1, 2))],
)
def test_libcuda_is_asked_as_programs_ask_it(
    tmp_path: Path, shim_environment: Shims, given: str, statement: str, counts: tuple[int, int | None]
) -> None:
    sitecustomize(venv(tmp_path, NEWEST[0]), statement)
    environ = shim_environment(Nvml(gpus=2), Cuda(gpus=2)) | ({"CUDA_VISIBLE_DEVICES": given} if given else {})
    snapshot, _ = look(ProbeScope(python=str(tmp_path / "bin/python")), environ)
    assert (counted(snapshot.libcuda), counted(snapshot.libcuda_unmasked)) == counts


def test_libcuda_is_asked_without_the_mask_of_a_wrapper(tmp_path: Path, shim_environment: Shims) -> None:
    venv(tmp_path, NEWEST[0])
    environ = shim_environment(Nvml(gpus=2), Cuda(gpus=2))
    snapshot, _ = look(ProbeScope(python=str(wrapped(tmp_path, "export CUDA_VISIBLE_DEVICES=7"))), environ)
    assert (counted(snapshot.libcuda), counted(snapshot.libcuda_unmasked)) == (0, 2)


def counted(section: Libcuda | Missing) -> int | None:
    if isinstance(section, Missing):
        return None
    return 0 if isinstance(section.devices, Missing) else len(section.devices)


def shadowed(python: Path | str, environ: dict[str, str], beside: Path | None = None) -> dict[str, str]:
    snapshot, _ = look(ProbeScope(python=str(python), cwd=str(beside) if beside else None), environ)
    assert isinstance(snapshot.python, Python)
    return {Path(path).name: path for path in snapshot.python.shadowing}


@pytest.mark.parametrize("version", NEWEST)
def test_files_that_shadow_the_standard_library_are_those_that_an_import_loads(tmp_path: Path, version: str) -> None:
    frozen = ("os.py", "posixpath.py") if version == NEWEST[0] else ()  # an older Python loads them, and does not start
    files = ("random.py", "queue.py", "platform/__init__.py", "sys.py", *frozen, "company.py", "numpy.py", "glob/no_package.py")
    folder = Path(plant(tmp_path / "project", dict.fromkeys(files, "")))
    asking = "import importlib, sys\nfor name in sys.argv[1].split(): print(name, getattr(importlib.import_module(name), '__file__', None) or '')"
    names = "random queue platform sys os posixpath glob"
    environ = {**EMPTY, "PYTHONPATH": str(folder)}
    done = subprocess.run([FOUND[version], "-c", asking, names], env=environ, capture_output=True, text=True, check=True)
    loaded = [line.split() for line in done.stdout.splitlines()]
    real = {words[0] for words in loaded if words[1:] and words[1].startswith(f"{folder}/")}
    assert {name.partition(".")[0] for name in shadowed(FOUND[version], environ)} == real >= {"random", "queue", "platform"}
    assert set(shadowed(FOUND[version], EMPTY, folder)) == {"random.py", "queue.py", "platform"}
    assert shadowed(FOUND[version], EMPTY) == {}
