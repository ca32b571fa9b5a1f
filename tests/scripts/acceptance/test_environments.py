"""Real frameworks over our driver libraries: predicted files are the mapped ones, and gpudoctor agrees with the framework."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.elf.test_fatbin import agrees
from tests.environments import make, rows
from tests.environments.compare import compare, files
from tests.environments.examine import Examined, examine
from tests.scripts.programs import SCRIPTS
from tests.seams import environments
from tests.seams.build import SeamUnavailable, locked

BY_NAME = {row.name: row for row in rows.SMALL}
SCRIPT = SCRIPTS / "acceptance" / "environments"
CUDART = "nvidia/cuda_runtime/lib/libcudart.so.12"


def environment(row: rows.Row) -> Path:
    try:
        with locked(f"environment-{row.place}") as cache:
            folder = cache / "environments" / f"{row.place}-{rows.RUNNING}"
            if not (folder / row.place / make.DONE).exists():
                environments.may_download()
            return make.made(row, folder, lambda _: None)
    except SeamUnavailable as reason:
        pytest.skip(str(reason))


def tried(name: str, place: Path, *library_path: str) -> Examined:
    row = dataclasses.replace(BY_NAME[name], library_path=library_path)
    return examine(row, environment(BY_NAME[name]), place)


@pytest.mark.index
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", BY_NAME)
def test_installed_and_missing_libraries(name: str, tmp_path: Path) -> None:
    found = tried(name, tmp_path)
    [comparison] = found.comparisons
    assert comparison.agrees, comparison
    assert not comparison.sees
    assert comparison.same >= 1
    assert "GD401" in " ".join(comparison.findings)
    assert "libcublas.so.12" in " ".join(comparison.findings)
    assert found.same_xray


@pytest.mark.index
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", BY_NAME)
def test_another_copy_on_the_search_path(name: str, tmp_path: Path) -> None:
    folder = environment(BY_NAME[name])
    elsewhere = tmp_path / "elsewhere" / "lib64"
    elsewhere.mkdir(parents=True)
    shutil.copy(make.site(folder) / CUDART, elsewhere)
    found = tried(name, tmp_path, str(elsewhere))
    [comparison] = found.comparisons
    assert comparison.agrees, comparison
    mapped = [path for path in found.witnesses[BY_NAME[name].frameworks[0]]["mapped"] if path.endswith("/libcudart.so.12")]
    assert str(elsewhere / "libcudart.so.12") in mapped or name == "jax-few"  # whose plugin loads the wheel's by its path


@pytest.mark.index
@pytest.mark.timeout(900)
def test_a_stub_first_on_the_search_path(tmp_path: Path) -> None:
    found = tried("tensorflow-few", tmp_path, rows.STUBS)
    [comparison] = found.comparisons
    assert comparison.agrees, comparison
    assert "GD219 libcuda-is-stub" in " ".join(comparison.findings)
    assert "stub library" in comparison.words


def test_every_row_has_a_unique_name_and_its_place_one_python() -> None:
    assert len({row.name for row in rows.ROWS}) == len(rows.ROWS)
    assert all(len({row.python for row in rows.ROWS if row.place == place}) == 1 for place in {row.place for row in rows.ROWS})
    assert [row.place for row in rows.ROWS] == sorted((row.place for row in rows.ROWS), key=[row.place for row in rows.ROWS].index)


def test_steps_continue_from_the_previous_row() -> None:
    first, second = (row for row in rows.ROWS if row.place == "tensorflow" and row.pip)
    assert rows.steps(second) == (*first.pip, *second.pip)


def program(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False)


def test_the_program_lists_its_environments() -> None:
    done = program("--list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [row.name for row in rows.ROWS]


def test_an_unknown_name_is_refused() -> None:
    done = program("tensorflow-9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "scripts/acceptance/environments: no environment is called tensorflow-9; --list shows them.\n"


def use(wanted: str, path: str = "", *, vital: bool = True) -> dict[str, object]:
    return {"wanted": wanted, "asking": "opened", "vital": vital, "file": {"path": path} if path else {"type": "missing"}}


def seen(*uses: dict[str, object], also: tuple[str, ...] = ()) -> dict[str, object]:
    return {"libraries": {"frameworks": [{"framework": "tensorflow", "uses": list(uses), "also_loaded": list(also)}]}}


def saw(*mapped: str, gpus: int = 0, log: str = "") -> dict[str, object]:
    return {"mapped": list(mapped), "gpus": gpus, "error": None, "log": log, "version": "2.20.0"}


@pytest.mark.parametrize(
    ("witness", "xray", "words"),
    [
        (
            saw("/a/libcudart.so.12"),
            seen(use("libcudart.so.12", "/b/libcudart.so.12")),
            "/b/libcudart.so.12 expected, /a/libcudart.so.12 mapped",
        ),
        (saw("/a/libcudart.so.12"), seen(use("libcudart.so.12")), "found nowhere, and mapped from /a/libcudart.so.12"),
        (saw("/a/libcufft.so.11"), seen(), "not foreseen, and mapped from /a/libcufft.so.11"),
        (saw(), seen(also=("/a/libcufft.so.11",)), "said to be loaded too, and is not mapped"),
        (saw(gpus=1), seen(use("libcudart.so.12", "/b/libcudart.so.12")), "vital, and not mapped though the GPU is seen"),
        (saw(log="Could not load dynamic library 'libcufft.so.10'; dlerror"), seen(use("libcudart.so.12")), "only one of both says"),
    ],
)
def test_differences_are_reported(witness: dict[str, object], xray: dict[str, object], words: str) -> None:
    differences, _, _ = files("tensorflow", witness, xray)
    assert any(words in difference for difference in differences), differences


def test_an_invisible_gpu_without_a_finding_is_a_disagreement() -> None:
    silent = compare("tensorflow", saw(), {"findings": []}, seen())
    assert not silent.agrees
    assert silent.words == "no GPU, and no word"
    assert compare("tensorflow", saw(gpus=1), {"findings": []}, seen()).agrees


@pytest.mark.index
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", BY_NAME)
def test_a_frameworks_gpu_code_agrees_with_cuobjdump(name: str) -> None:
    libraries = ("tensorflow/libtensorflow_cc.so.2", "jax_plugins/xla_cuda12/xla_cuda_plugin.so")
    site = next(environment(BY_NAME[name]).glob("lib/python*/site-packages"))
    [library] = [site / path for path in libraries if (site / path).exists()]
    code = agrees(library)
    assert {"sm_60", "sm_90"} <= set(code.sass)
    assert code.fatbins > 30
