"""The whole program over the most realistic driver without a GPU: NVIDIA's own libraries, and ours through NVIDIA's own binding."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.machines.build import diagnosed, examine
from tests.machines.packages import environment, tensorflow_1
from tests.machines.recipes import RECIPES, TF, cards, healthy
from tests.machines.recipes.gpus import V100
from tests.seams import BRANCHES, Cuda, DriverLibraries, Nvml, Tree, warm

Libraries = Callable[[str], DriverLibraries]


def check(root: Path, target: Path, environ: dict[str, str], *more: str) -> tuple[int, dict[str, Any]]:
    command = ("check", "--no-smoke", "--format", "json", "--root", str(root), "--python", str(target))
    done = warm.gpudoctor(*command, *more, env=environ)
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == report["exit_code"]
    return done.returncode, report


@pytest.mark.debian
@pytest.mark.parametrize("branch", BRANCHES)
def test_real_libraries_without_a_kernel_driver(branch: str, driver_libraries: Libraries, tmp_path: Path) -> None:
    root = Tree(pci=cards(1, None)).build(tmp_path / "root")
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    code, report = check(root, environment(tmp_path / "env", (TF,)), driver_libraries(branch).environ(), "--cwd", str(scripts))
    assert code == 1
    assert diagnosed(report)["roots"] == ["no-driver"]
    assert report["snapshot"]["nvml"]["init"]["code"] == 9
    assert report["snapshot"]["libcuda"]["init"]["code"] == 100
    assert all(finding["because_of"] == [report["findings"][0]["id"]] for finding in report["findings"][1:])
    assert [one for one in report["could_not_tell"] if not one["because_of"]] == []


@pytest.mark.debian
@pytest.mark.parametrize("branch", BRANCHES)
def test_real_libraries_that_do_not_match_the_kernel_driver(branch: str, driver_libraries: Libraries, tmp_path: Path) -> None:
    root = Tree(pci=cards(1), kernel_driver="999.12.34").build(tmp_path / "root")
    libraries = driver_libraries(branch)
    code, report = check(root, environment(tmp_path / "env", (TF,)), libraries.environ(kernel_driver="999.12.34"))
    assert code == 1
    assert diagnosed(report)["roots"][0] == "driver-library-mismatch"
    (finding,) = (one for one in report["findings"] if one["name"] == "driver-library-mismatch")
    assert "999.12.34" in finding["message"]
    assert finding["fixes"][0]["command"] == "sudo reboot"
    assert "reboot" in finding["fixes"][0]["needs"]
    if branch != "470":  # which does not tell NVML's version before it has started
        assert libraries.version.split("-")[0] in finding["message"]


def test_one_lost_of_eight_affects_one_gpu(tmp_path: Path) -> None:
    _, report = examine(RECIPES["eight-one-lost"], tmp_path)
    assert {one["name"] for one in report["findings"] if not one["because_of"] and one["severity"] == "error"} == {"gpu-fell-off-bus"}
    finding = report["findings"][0]
    assert finding["subject"] == {"kind": "gpu", "key": cards(8)[3].address}
    states = {row["subject"]["key"]: {step["rung"]: step["state"] for step in row["steps"]} for row in report["ladder"]}
    assert [key for key, steps in states.items() if steps["libcuda"] != "proven"] == [cards(8)[3].address]
    assert (report["proved_to"]["gpus"], report["proved_to"]["of"]) == (7, 8)


@pytest.fixture(scope="module")
def with_tensorflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("shared") / "environment", healthy().packages)


@pytest.mark.parametrize("code", [*range(1, 30), 999])
def test_no_nvml_error_passes_as_healthy(code: int, with_tensorflow: Path, tmp_path: Path) -> None:
    recipe = healthy(libraries=(Nvml(gpus=1, calls={"nvmlInit": f"return {code}"}), Cuda(gpus=1)))
    exit_code, report = examine(recipe, tmp_path, target=with_tensorflow)
    assert report["verdict"] in {"broken", "unknown"}
    assert exit_code in {1, 3}
    assert report["snapshot"]["nvml"]["init"]["code"] == code
    said = json.dumps([report["because"], report["findings"], report["could_not_tell"]])
    assert report["snapshot"]["nvml"]["init"]["text"].rstrip(".")[:20] in said or report["snapshot"]["nvml"]["init"]["name"] in said


def test_a_hanging_call_ends_at_the_checks_deadline(tmp_path: Path) -> None:
    recipe = healthy(8, libraries=(Nvml(gpus=8, calls={"nvmlDeviceGetName.5": "hang"}), Cuda(gpus=8)))
    began = time.monotonic()
    exit_code, report = examine(recipe, tmp_path, "--timeout", "2")
    assert time.monotonic() - began < 30
    assert (exit_code, report["verdict"]) == (3, "unknown")
    assert "nvmlDeviceGetName" in report["because"]
    gpus = report["snapshot"]["nvml"]["gpus"]
    assert [gpu["name"] for gpu in gpus[:5]] == ["NVIDIA A100-SXM4-80GB"] * 5
    assert gpus[5]["name"]["cause"] == "timed-out"


@pytest.mark.parametrize(
    "library", [Nvml(gpus=1, calls={"nvmlInit": "crash"}), Nvml(gpus=1, calls={"nvmlDeviceGetHandleByIndex": "crash"})]
)
def test_a_crash_in_the_driver_is_reported_and_not_a_pass(library: Nvml, tmp_path: Path) -> None:
    exit_code, report = examine(healthy(libraries=(library, Cuda(gpus=1))), tmp_path)
    assert (exit_code, report["verdict"]) == (3, "unknown")
    assert "SIGSEGV" in report["because"]


def test_hanging_cuda_is_not_a_pass(tmp_path: Path) -> None:
    recipe = healthy(libraries=(Nvml(gpus=1), Cuda(gpus=1, calls={"cuInit": "hang"})))
    exit_code, report = examine(recipe, tmp_path, "--timeout", "2")
    assert (exit_code, report["verdict"]) == (3, "unknown")
    assert "cuInit" in report["because"]


def test_tensorflow_1_on_python_3_6_is_judged_as_that_environment(tmp_path: Path) -> None:
    python = Path.home() / ".pyenv/versions/3.6.15/bin/python"
    if not python.exists():
        pytest.skip("needs Python 3.5 or 3.6")
    target = tmp_path / "old"
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(target)], check=True)
    tensorflow_1("1.14.0").install(next(target.glob("lib/python*/site-packages")))
    for driver, cuda, names in (("410.48", "10.0", []), ("390.157", "9.1", ["driver-too-old"])):
        recipe = healthy(
            libraries=(Nvml(gpus=(V100,), driver=driver, cuda=cuda), Cuda(gpus=(V100,), cuda=cuda)),
            tree=Tree(pci=cards(1), kernel_driver=driver),
        )
        _, report = examine(recipe, tmp_path / driver, target=target)
        assert report["snapshot"]["python"]["version"].startswith("3.6")
        assert diagnosed(report)["roots"] == names, report["findings"]
        if names:
            assert "CUDA 10.0" in report["findings"][0]["message"]
