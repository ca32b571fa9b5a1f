"""`gpudoctor envs` over real environments, on a machine with a GPU and on one without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpudoctor.report.schema import document_schema
from tests.cli.command import environment, run, sentence
from tests.machines import packages
from tests.machines.build import UNSET
from tests.machines.recipes.base import TF
from tests.seams import Cuda, Nvml, environ_with

BASE = os.path.realpath(sys.executable)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a virtual environment of each kind, a broken one, a pyenv, a conda environment and a Jupyter kernel."""
    place = tmp_path_factory.mktemp("home")
    for name in ("project/.venv", ".virtualenvs/moved"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / name)], check=True)
    for link in (place / ".virtualenvs/moved/bin").glob("python*"):
        link.unlink()
    (place / ".virtualenvs/moved/bin/python").symlink_to("/gone/python3.9")
    packages.environment(place / ".virtualenvs/training", (TF,))
    (place / ".pyenv/versions/3.9.1/bin").mkdir(parents=True)
    hanging = place / ".pyenv/versions/3.9.1/bin/python"
    hanging.write_text("#!/bin/sh\nexit 3\n")
    hanging.chmod(0o755)
    (place / "conda/envs/ml/conda-meta").mkdir(parents=True)
    (place / "conda/envs/ml/bin").mkdir()
    (place / "conda/envs/ml/bin/python").symlink_to(BASE)
    (place / ".conda").mkdir()
    (place / ".conda/environments.txt").write_text(f"{place}/conda/envs/ml\n/gone/env\n")
    kernel = place / ".local/share/jupyter/kernels/notebook"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({"argv": [str(place / ".virtualenvs/training/bin/python"), "-m", "ipykernel"]}))
    return place


def listed(home: Path, *words: str, **variables: str) -> dict[str, dict[str, object]]:
    bare = environment(**{**dict.fromkeys(UNSET), "HOME": str(home), "PATH": "/nowhere", "PYENV_ROOT": None, **variables})
    ended = run("envs", "--format", "json", *words, env=environ_with(Nvml(gpus=1), Cuda(gpus=1), directory=home / "libraries", base=bare))
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    Draft202012Validator(document_schema("envs")).validate(said)
    return {row["path"][1:]: row for row in said["environments"] if row["path"].startswith("~")}


def test_every_environment_is_listed_with_what_is_known_of_it(home: Path) -> None:
    rows = listed(home, VIRTUAL_ENV=str(home / "project/.venv"))
    assert {path: row["verdict"] for path, row in rows.items() if path != "/.virtualenvs/training"} == {
        "/project/.venv": "none",
        "/.virtualenvs/moved": "broken",
        "/.pyenv/versions/3.9.1": "unknown",
        "/conda/envs/ml": "none",
    }
    assert rows["/project/.venv"]["active"] is True
    assert rows["/.virtualenvs/moved"]["why"] == "its base interpreter /gone/python3.9 is gone"
    assert rows["/conda/envs/ml"]["kind"] == "conda environment"
    training = rows["/.virtualenvs/training"]
    assert [one["name"] for one in training["frameworks"]] == ["tensorflow"]  # type: ignore[attr-defined]
    assert training["kernels"] == ["notebook"]


def test_an_environment_has_the_verdict_of_a_check(home: Path) -> None:
    bare = environment(**{**dict.fromkeys(UNSET), "HOME": str(home)})
    env = environ_with(Nvml(gpus=1), Cuda(gpus=1), directory=home / "libraries", base=bare)
    completed_process = run("check", "--no-smoke", "--python", str(home / ".virtualenvs/training"), "--format", "json", env=env)
    checked = json.loads(completed_process.stdout)
    row = listed(home)["/.virtualenvs/training"]
    assert row["verdict"] == checked["verdict"]


def test_the_page_fits_80_columns(home: Path) -> None:
    ended = run("envs", env=environment(**{**dict.fromkeys(UNSET), "HOME": str(home), "PATH": "/nowhere", "COLUMNS": "80"}))
    text = ended.stdout.decode()
    assert ended.returncode == 0
    assert "Without a framework" in text
    assert "its base interpreter /gone/python3.9 is gone" in text
    assert all(len(line) <= 80 for line in text.splitlines() if "/" not in line)


def test_what_time_does_not_allow_is_listed_unexamined(home: Path) -> None:
    rows = listed(home, "--timeout", "0.001")
    assert "--timeout" in str(rows["/project/.venv"]["why"] if "/project/.venv" in rows else rows["/.virtualenvs/training"]["why"])


def test_no_time_at_all_is_refused() -> None:
    ended = run("envs", "--timeout", "-1")
    assert ended.returncode == 2
    assert "positive number of seconds" in sentence(ended.stderr)
