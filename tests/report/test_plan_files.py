"""A plan as a file: each is read back by the program that it is for, or by a parser of that format."""

from __future__ import annotations

import sys
from importlib import import_module

import msgspec
import pytest
import yaml
from packaging.requirements import Requirement

from gpudoctor.errors import UsageError
from gpudoctor.report.build import TOOL
from gpudoctor.report.plan import Assumption, Commands, Environment, Pin, Plan
from gpudoctor.report.plan_files import file_content, refuse_unknown_name

INDEX = "https://download.pytorch.org/whl/cu126"
HERE = Environment(
    verdict="ready",
    name="torch 2.9.1 for CUDA 12.6",
    python="3.12",
    python_reason="as stated",
    pins=(Pin("torch==2.9.1+cu126", "the newest release"), Pin("jax[cuda12]==0.6.0", "as stated"), Pin("numpy<2", "as stated")),
    index=INDEX,
    torch_backend="cu126",
    locked=("numpy==1.26.4", "filelock==3.1", "torch==2.9.1+cu126"),
    commands=Commands("uv", "pip", "conda"),
)
PLAN = Plan(tool=TOOL, exit_code=0, headline="", requirements=(), machine=(Assumption("GPU", "NVIDIA L4", "--gpu"),), environment=HERE)
ALL = ["torch==2.9.1+cu126", "jax[cuda12]==0.6.0", "numpy==1.26.4", "filelock==3.1"]


def test_requirements_have_the_index_and_every_package() -> None:
    lines = [line for line in file_content(PLAN, "", "out/requirements.txt").splitlines() if not line.startswith("#")]
    assert lines[0] == f"--extra-index-url {INDEX}"
    assert [str(Requirement(line)) for line in lines[1:]] == ALL


def test_the_project_takes_the_build_from_its_index() -> None:
    tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = tomllib.loads(file_content(PLAN, "", "pyproject.toml"))
    assert project["project"]["dependencies"] == ["torch==2.9.1+cu126", "jax[cuda12]==0.6.0", "numpy<2"]
    assert project["project"]["requires-python"] == "==3.12.*"
    assert project["tool"]["uv"]["sources"] == {"torch": {"index": "pytorch-cu126"}}
    assert project["tool"]["uv"]["index"] == [{"name": "pytorch-cu126", "url": INDEX, "explicit": True}]


def test_conda_gets_python_and_pip_the_packages() -> None:
    environment = yaml.safe_load(file_content(PLAN, "", "environment.yml"))
    assert environment["dependencies"] == ["python=3.12", "pip", {"pip": [f"--extra-index-url {INDEX}", *ALL]}]


def test_the_dockerfile_installs_every_package() -> None:
    text = file_content(PLAN, "", "Dockerfile")
    assert "FROM python:3.12-slim\nRUN python -m pip install --no-cache-dir \\\n    torch==2.9.1+cu126 \\\n" in text
    assert text.endswith(f"    'jax[cuda12]==0.6.0' \\\n    numpy==1.26.4 \\\n    filelock==3.1 \\\n    --extra-index-url {INDEX}\n")


def test_the_lock_is_uvs() -> None:
    assert file_content(PLAN, 'lock-version = "1.0"\n', "pylock.toml").endswith('\nlock-version = "1.0"\n')
    with pytest.raises(UsageError, match="only uv finds out"):
        file_content(PLAN, "", "pylock.toml")


def test_a_comment_says_for_which_machine_the_file_is() -> None:
    for name in ("requirements.txt", "pyproject.toml", "Dockerfile", "environment.yml"):
        assert "# for NVIDIA L4\n" in file_content(PLAN, "", name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match=r"name it requirements\.txt"):
        refuse_unknown_name("plan.xml")


def test_a_plan_without_an_environment_is_no_file() -> None:
    with pytest.raises(UsageError, match=r"requirements\.txt was not written: nothing works on this machine\."):
        file_content(msgspec.structs.replace(PLAN, environment=None), "", "requirements.txt")
