"""--cwd names the training script's folder: files in it that shadow a package are found, and without a folder this is reported as not checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudoctor.probe.script_folder import script_folder
from gpudoctor.snapshot import Missing, ScriptFolder
from tests.machines import packages
from tests.probe.places import Content, plant
from tests.probe.test_xray_of_damage import Machine


@pytest.mark.parametrize(
    ("files", "hides"),
    [
        ({"torch.py": ""}, ["torch.py"]),
        ({"torch/__init__.py": ""}, ["torch"]),
        ({"torch/train.py": ""}, []),  # an import goes on to the installed package
        ({"numpy.py": "", "train.py": ""}, ["numpy.py"]),
        ({"jax.cpython-311-x86_64-linux-gnu.so": ""}, ["jax.cpython-311-x86_64-linux-gnu.so"]),
        ({"tensorflow/__init__.py": "", "torch_utils.py": "", "mytorch/__init__.py": ""}, ["tensorflow"]),
        ({}, []),
    ],
)
def test_files_that_shadow_a_package(tmp_path: Path, files: dict[str, Content], hides: list[str]) -> None:
    plant(tmp_path, {"README": "", **files})
    assert script_folder(str(tmp_path)) == ScriptFolder(str(tmp_path), tuple(f"{tmp_path}/{hide}" for hide in hides))


def test_without_a_folder_it_is_unknown() -> None:
    assert isinstance(script_folder(None), Missing)


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Machine, Path]:
    torch = packages.environment(tmp_path_factory.mktemp("e") / "environment", (packages.torch("2.6.0+cu124", "12.4"),))
    return Machine(tmp_path_factory.mktemp("machine")), torch


def asked(machine: tuple[Machine, Path], *words: str) -> tuple[int, dict[str, Any]]:
    return machine[0].run(*words, "--python", str(machine[1]))


@pytest.mark.parametrize("words", [["check", "--no-smoke"], ["smoke"], ["xray"]], ids=" ".join)
def test_a_file_beside_the_script_is_found_by_every_command(machine: tuple[Machine, Path], tmp_path: Path, words: list[str]) -> None:
    plant(tmp_path, {"torch.py": "raise SystemExit('this was run')"})
    _, report = asked(machine, *words, "--cwd", str(tmp_path))
    if words == ["xray"]:
        assert report["script_folder"]["hides"] == [f"{tmp_path}/torch.py"]
        return
    (found,) = [one for one in report["findings"] if one["name"] == "script-folder-hides-package"]
    assert (found["severity"], report["verdict"], report["exit_code"]) == ("error", "broken", 1)
    assert found["fixes"][0]["command"].startswith(f"mv {tmp_path}/torch.py ")


def test_a_missing_cwd_is_reported_and_changes_nothing(machine: tuple[Machine, Path], tmp_path: Path) -> None:
    code, report = asked(machine, "check", "--no-smoke")
    assert (code, report["verdict"]) == (0, "ready")
    (said,) = [one for one in report["could_not_tell"] if one["name"] == "script-folder-hides-package"]
    assert "--cwd DIR" in said["reason"]
    code, report = asked(machine, "check", "--no-smoke", "--cwd", str(tmp_path))
    assert (code, report["verdict"]) == (0, "ready")
    assert "script-folder-hides-package" in [one["name"] for one in report["passed"]]


def test_an_invalid_folder_is_a_usage_error(machine: tuple[Machine, Path], tmp_path: Path) -> None:
    for words in (["check", "--no-smoke"], ["xray"]):
        code, error = asked(machine, *words, "--cwd", str(tmp_path / "none"))
        assert code == 2
        assert "--cwd" in str(error)
