"""Plans for what files ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.errors import UsageError
from gpudoctor.plan.proposal import proposed_plan
from gpudoctor.plan.question_files import question_with_files
from gpudoctor.report.plan import Plan
from gpudoctor.requirement_files.reading import read_requirement_files
from tests.plan.planned import MATRIX, asked, pins


def planned(tmp_path: Path, name: str, text: str, *requirements: str) -> Plan:
    """The plan for a file on an L4 with driver 550."""
    file = tmp_path / name
    file.write_text(text)
    return proposed_plan(
        question_with_files(asked("L4", "550.54.14", *requirements), read_requirement_files((str(file),)), MATRIX), MATRIX
    ).plan


def test_requirements_and_constraints(tmp_path: Path) -> None:
    (tmp_path / "limits.txt").write_text("torch<2.9\n")
    plan = planned(tmp_path, "requirements.txt", "-c limits.txt\ntorch>=2.7\ntorchvision\n")
    assert pins(plan) == ["torch==2.8.0", "torchvision==0.23.0"]


def test_a_project_bounds_python(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "pyproject.toml", '[project]\nname = "a"\nversion = "1"\nrequires-python = ">=3.9,<3.11"\ndependencies = ["torch<=2.8"]\n'
    )
    assert plan.environment is not None
    assert (pins(plan), plan.environment.python) == (["torch==2.8.0"], "3.10")


def test_what_only_conda_has_is_named_and_never_ready(tmp_path: Path) -> None:
    text = "name: a\nchannels: [conda-forge]\ndependencies:\n  - python=3.12\n  - pytorch<=2.8\n  - numpy\n  - pandas=2.2\n  - cuda-nvcc=12.4\n"
    plan = planned(tmp_path, "environment.yml", text)
    assert (pins(plan), plan.exit_code) == (["torch==2.8.0", "numpy", "pandas==2.2.*"], 3)
    assert plan.environment is not None
    assert plan.environment.not_checked == (f"cuda-nvcc==12.4.* is conda's and was not planned ({tmp_path}/environment.yml:8).",)


def test_no_python_that_the_file_allows_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No Python version satisfies"):
        planned(
            tmp_path, "pyproject.toml", '[project]\nname = "a"\nversion = "1"\nrequires-python = ">=3.12,<3.10"\ndependencies = ["torch"]\n'
        )


def test_python_2_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Python 2\.7: uv and venv need Python 3"):
        planned(tmp_path, "environment.yml", "dependencies:\n  - python=2.7\n  - pip:\n    - torch==1.4.0\n")
