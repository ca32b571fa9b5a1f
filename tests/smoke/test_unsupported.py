"""Unsupported releases are reported as such: not a fault of the machine, and never ready."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy, Verdict
from gpudoctor.smoke.plan import planned_trainings
from gpudoctor.snapshot import Smoke, Stage, StageKind, StageState
from tests.builders import machine, smoke, tensorflow, torch
from tests.environments import make
from tests.seams.build import SeamUnavailable
from tests.shipped import shared_matrix
from tests.smoke.child import Run

UNSUPPORTED = Smoke(framework="torch", stages=(Stage(StageKind.IMPORT, StageState.UNSUPPORTED, error="Smoke training needs PyTorch 1.8."),))


def check(python: Path) -> dict[str, Any]:
    environ = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    command = [sys.executable, "-m", "gpudoctor", "check", "--allow-cpu", "--python", str(python), "--format", "json"]
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    report: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == report["exit_code"]
    return report


def put(site: Path, package: str, version: str) -> None:
    """A package that states this release."""
    (site / package).mkdir()
    (site / package / "__init__.py").write_text(f"from . import version\n__version__ = {version!r}\n")
    (site / package / "version.py").write_text(f"__version__ = {version!r}\ncuda = None\n")
    (site / f"{package}-{version}.dist-info").mkdir()
    (site / f"{package}-{version}.dist-info" / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("package", "version", "oldest"),
    [("torch", "1.7.1", "PyTorch 1.8"), ("jax", "0.4.13+vendor", "JAX 0.4.14"), ("jax", "0.4.2rc1", "JAX 0.4.14")],
)
def test_a_release_that_is_too_old_is_unknown(package: str, version: str, oldest: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    put(make.site(tmp_path / "env"), package, version)
    report = check(tmp_path / "env" / "bin" / "python")
    assert (report["verdict"], report["exit_code"]) == ("unknown", 3)
    assert [(one["subject"]["key"], one["what"]) for one in report["not_judged"]] == [(package, f"training with {package}")]
    assert f"needs {oldest} or newer; this is {version}" in report["because"]
    assert "smoke-crashed" not in [one["name"] for one in report["findings"]]


def test_under_python_2_nothing_is_started(tmp_path: Path) -> None:
    try:
        python = make.interpreter("2.7")
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    put(tmp_path, "torch", "1.4.0")
    (tmp_path / "python").write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {python} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    report = check(tmp_path / "python")
    assert report["verdict"] == "unknown"
    assert "Smoke training needs Python 3.6 or newer; this is 2.7" in report["because"]


@pytest.mark.parametrize(("version", "said"), [("2.7.18", True), ("3.5.10", True), ("3.6.0", False), ("3.13.1", False)])
def test_the_oldest_python_matches_the_scripts(version: str, said: bool) -> None:
    seen = machine(1)
    python = msgspec.structs.replace(seen.python, version=version)
    plans = planned_trainings(_facts(msgspec.structs.replace(seen, python=python)), "/env/bin/python", force=False)
    assert isinstance(plans, tuple)
    assert [bool(training_plan.unsupported) for training_plan in plans] == [said] * len(plans)


def _facts(snapshot: Any) -> Any:
    from gpudoctor.derive import MachineView  # noqa: PLC0415 -- one test's

    return MachineView(snapshot, shared_matrix(), Policy())


def test_another_framework_that_trained_does_not_count_for_it() -> None:
    trained = machine(1, frameworks=(tensorflow(), torch()), smoke=(smoke(1), UNSUPPORTED))
    diagnosis = diagnose(trained, shared_matrix(), Policy())
    assert diagnosis.verdict is Verdict.UNKNOWN
    assert [unchecked.subject.key for unchecked in diagnosis.unchecked] == ["torch"]


@pytest.mark.index
def test_tensorflow_1_trains(smoke: Callable[..., Run], tensorflow_1_python: Path) -> None:
    run = smoke("--devices", "cpu", "--measure", framework="tensorflow", interpreter=tensorflow_1_python)
    assert run.status == 0
    assert run.one("end", stage="import")["version"].startswith("1.15")
    trainings = {each["network"]: each for each in run.all("training")}
    assert trainings["dense"]["losses"][0] == pytest.approx(2.0487, rel=1e-3)
    assert trainings["dense"]["losses"][-1] == pytest.approx(0.00129, rel=0.02)
    assert trainings["convolutional"]["losses"][-1] == pytest.approx(0.0379, rel=0.02)
    assert {each["loss_difference"] for each in run.all("agreement")} == {0.0}
    compiled = run.one("compiled")
    assert compiled["loss_difference"] <= compiled["loss_tolerance"]


@pytest.mark.index
def test_a_release_without_all_reduce_support_is_reported(smoke: Callable[..., Run], tensorflow_1_python: Path) -> None:
    run = smoke("--devices", "cpu", "--all-reduce", framework="tensorflow", interpreter=tensorflow_1_python)
    assert "too old" in run.one("unsupported", stage="all-reduce")["error"]
