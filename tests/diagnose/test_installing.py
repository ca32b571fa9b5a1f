"""What is installed, by which tool and from where, and that a release that is picked works where it is picked for."""

from __future__ import annotations

import re

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.diagnose.advice.environments import create_environment
from gpudoctor.diagnose.advice.installing import install_framework, install_nearest_release
from gpudoctor.diagnose.advice.releases import PickedRelease, pick_release
from gpudoctor.findings import Policy
from gpudoctor.plan import Combination, check_combination
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.snapshot import Distribution, Fact, KernelDriver, Libcuda, Packages, Python, Status
from tests.builders import machine
from tests.diagnose.rules.packaged import stated, supposed
from tests.machines.diagnoses import as_json, diagnosis
from tests.machines.store import NAMES, recorded
from tests.shipped import shared_matrix

MATRIX = shared_matrix()


def fixes(name: str, finding: str) -> list[dict[str, str]]:
    return next(one["fixes"] for one in as_json(diagnosis(name))["findings"] if one["name"] == finding)


@pytest.mark.parametrize("python", ["3.9", "3.12"])
@pytest.mark.parametrize("driver", ["470.57.02", "525.60.13", "550.54.14", "580.65.06", "595.45.04"])
@pytest.mark.parametrize("gpu", ["Tesla K80", "GTX 1080", "V100", "T4", "A100", "H100", "B200", "RTX 5090"])
def test_whatever_is_picked_is_not_broken_in_compat(gpu: str, driver: str, python: str) -> None:
    combination = Combination(requirements=("numpy",), gpus=(gpu,), driver=driver, python=python)
    facts = MachineView(snapshot_of_combination(combination, MATRIX, "2026-11-22T00:00:00Z"), MATRIX, Policy(level=None))
    for framework in ("torch", "tensorflow", "jax"):
        found = pick_release(facts, framework)
        if found is not None:
            judged = check_combination(
                Combination(requirements=found.requirements, gpus=(gpu,), driver=driver, python=python), Policy(level=None)
            )
            assert not [cause.message for cause in judged.diagnosis.root_causes if cause.severity == "error"], found.requirements


def test_something_is_found_for_common_machines() -> None:
    def found(gpu: str, driver: str, framework: str) -> tuple[tuple[str, ...], str]:
        combination = Combination(requirements=("numpy",), gpus=(gpu,), driver=driver, python="3.12")
        one = pick_release(
            MachineView(snapshot_of_combination(combination, MATRIX, "2026-11-22T00:00:00Z"), MATRIX, Policy(level=None)), framework
        )
        assert one is not None
        return one.requirements, one.index

    pins, index = found("A100", "550.54.14", "torch")
    assert pins[0].endswith("+cu126")
    assert index == "https://download.pytorch.org/whl/cu126"
    assert found("H100", "580.65.06", "torch")[1] == ""  # the build of the default index
    assert found("A100", "550.54.14", "jax")[0][0].startswith("jax[cuda12]==")
    assert found("A100", "550.54.14", "tensorflow")[0][0].startswith("tensorflow[and-cuda]==")


def test_nothing_is_picked_that_no_driver_of_this_age_drives() -> None:
    combination = Combination(requirements=("numpy",), gpus=("RTX 5090",), driver="550.54.14", python="3.12")
    facts = MachineView(snapshot_of_combination(combination, MATRIX, "2026-11-22T00:00:00Z"), MATRIX, Policy(level=None))
    assert pick_release(facts, "torch") is None
    assert pick_release(facts, "torch", any_driver=True) is not None


@pytest.mark.parametrize(
    ("machine", "start"),
    [
        ("tensorflow-cpu-installed", "/recorded/environment/bin/python -m pip uninstall -y tensorflow-cpu && /recorded/environment/bin/"),
        ("tensorflow-cpu-in-an-environment-of-uv", "uv pip uninstall --python /recorded/environment/bin/python tensorflow-cpu && uv pip "),
        ("tensorflow-cpu-in-a-home-folder", """"$HOME"/'my env/bin/python' -m pip uninstall -y tensorflow-cpu && "$HOME"/'my env/bin"""),
        ("tensorflow-cpu-of-the-system", '/usr/bin/python3 -m venv "$HOME"/training && "$HOME"/training/bin/python -m pip install '),
    ],
)
def test_the_tool_is_the_one_that_the_environment_has(machine: str, start: str) -> None:
    (fix,) = fixes(machine, "cpu-only-build")
    assert fix["command"].startswith(start)
    assert fix["command"].endswith("'tensorflow[and-cuda]==2.18.0'")


def test_an_environment_that_a_fix_makes_is_the_one_that_is_verified() -> None:
    (fix,) = fixes("tensorflow-cpu-of-the-system", "cpu-only-build")
    assert fix["verify"] == 'gpudoctor check --only GD501 --no-smoke --python "$HOME"/training'


def test_what_conda_installed_conda_replaces() -> None:
    command = fixes("torch-from-conda-dropped-the-gpu", "gpu-too-old-for-build")[0]["command"]
    assert command == "conda install --prefix /recorded/environment --channel conda-forge pytorch-gpu 'cuda-version<=12.6'"


@pytest.mark.parametrize(
    ("machine", "finding", "command"),
    [
        ("driver-470-tensorflow-cuda-12", "driver-too-old", "sudo apt install nvidia-driver firmware-misc-nonfree"),
        ("driver-470-on-ubuntu", "driver-too-old", "sudo apt install nvidia-driver-580"),
        ("driver-470-on-debian-11", "driver-too-old", ""),
        ("driver-470-on-rocky", "driver-too-old", "sudo dnf install nvidia-open"),
        ("required-driver-newer", "requirement-not-met", "sudo apt install nvidia-open"),
        ("blackwell-under-closed-modules", "gpu-too-new-for-driver", "sudo apt install nvidia-open"),
        ("pascal-under-driver-590", "driver-too-new-for-gpu", "sudo apt install --allow-downgrades cuda-drivers"),
        ("pascal-on-ubuntu-under-driver-590", "driver-too-new-for-gpu", "sudo apt install nvidia-driver-580"),
    ],
)
def test_the_driver_comes_from_a_source_that_has_one_which_will_do(machine: str, finding: str, command: str) -> None:
    first = next(fix for fix in fixes(machine, finding) if fix["kind"] == "fix")
    assert first["command"].rpartition(" && ")[2] == command
    if not command:
        assert "NVIDIA's installer, from https://www.nvidia.com/drivers" in first["title"]
    if "developer.download" in first["command"]:
        assert "sudo apt update" in first["command"] or "config-manager" in first["command"]


def test_a_driver_package_is_as_new_as_its_fix_says() -> None:
    for name in NAMES:
        site = MachineView(recorded(name), MATRIX, Policy()).site
        rows = {row.package: row for row in MATRIX.driver_packages(f"{site.distribution[0]}-{site.release}")} if site.distribution else {}
        for command in (fix.command for finding in diagnosis(name).findings for fix in finding.fixes):
            words = command.replace("module reset nvidia-driver", "").split()
            named = [word for word in words if word.startswith("nvidia-driver") and "pinning" not in word and ":" not in word]
            assert all(word in rows for word in named), (name, command)


@pytest.mark.parametrize(
    ("here", "pythons", "chosen"),
    [
        ("3.13", ("3.9", "3.10", "3.14"), "3.10"),  # 3.10 is newer than 3.9, and nothing newer than what is here is needed
        ("3.12", ("3.10", "3.11", "3.13t"), "3.11"),
        ("3.8", ("3.10", "3.9"), "3.9"),
        ("3.9", ("3.10", "3.11t"), "3.10"),
        ("", ("3.9", "3.10"), "3.10"),
    ],
)
def test_a_new_environment_has_the_newest_python_up_to_the_one_here(here: str, pythons: tuple[str, ...], chosen: str) -> None:
    combination = Combination(requirements=("numpy",), gpus=("A100",), driver="550.54.14", python=here or None)
    facts = MachineView(snapshot_of_combination(combination, MATRIX, "2026-11-22T00:00:00Z"), MATRIX, Policy(level=None))
    fix = create_environment(facts, PickedRelease("torch 2.0.0", ("torch==2.0.0",), pythons=pythons))
    assert fix.title == f"Create an environment with Python {chosen} and install torch 2.0.0 there"
    assert fix.command.startswith(f"python{chosen} -m venv ")


@pytest.mark.parametrize(
    ("distribution", "python", "title"),
    [
        ("torch", "3.11", "Install torch {} for CUDA "),
        ("tensorflow", "3.11", "Install TensorFlow {} with CUDA"),
        ("tensorflow", "3.6", "Install tensorflow {}, the newest release for this platform"),
        ("tensorflow-cpu", "3.11", "Install tensorflow-cpu {}, the newest release for this platform"),
        ("triton", "3.11", "Install triton {}, the newest release for this platform"),
        ("xformers", "3.6", "Remove xformers from the plan: no release is published for this platform and Python."),
    ],
)
def test_a_framework_gets_a_release_that_works_here_and_another_package_its_newest(distribution: str, python: str, title: str) -> None:
    machine = MachineView(supposed(stated("numpy", "2.1.0"), python=python), MATRIX, Policy())
    (fix,) = install_nearest_release(machine, distribution)
    release = fix.installs[0].partition("==")[2].partition("+")[0] if fix.installs else ""
    assert fix.title.startswith(title.format(release))
    assert bool(fix.command) is bool(release)


@pytest.mark.parametrize("installed", ["0.4.35", "0.6.0", "0.10.2"])
@pytest.mark.parametrize("majors", [("12",), ("13",), ("12", "13"), ()])
@pytest.mark.parametrize(("driver", "cuda"), [("550.54.14", "12.4"), ("580.65.06", "13.0")])
def test_a_fix_that_installs_a_plugin_leaves_none_for_another_cuda(installed: str, majors: tuple[str, ...], driver: str, cuda: str) -> None:
    parts = [Distribution(f"jax-cuda{major}-{part}", installed, "/site") for major in majors for part in ("plugin", "pjrt")]
    packages = Packages((Distribution("jax", "0.10.2", "/site"), Distribution("jaxlib", installed, "/site"), *parts))
    python = Python("/env/bin/python", "named", version="3.11", pip=True)
    loaded = KernelDriver(version=Fact(driver, "/proc/driver/nvidia/version"))
    seen = machine(1, packages=packages, python=python, kernel_driver=loaded, libcuda=Libcuda(init=Status(0, "", ""), cuda_served=cuda))
    seen = msgspec.structs.replace(seen, nvml=msgspec.structs.replace(seen.nvml, driver_version=driver, cuda_served=cuda))
    fix = next(one for one in install_framework(MachineView(seen, MATRIX, Policy()), "jax", near="0.10.2") if one.installs)
    (chosen,) = re.findall(r"jax\[cuda(\d+)", " ".join(fix.installs))
    left = {part.name for part in parts} - set(fix.removes)
    assert all(name.startswith(f"jax-cuda{chosen}-") for name in left)
    assert all(name in fix.command for name in fix.removes)
    assert chosen in majors or not majors or driver.startswith("550")
