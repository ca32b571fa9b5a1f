from __future__ import annotations

import re

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import FixKind, OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Distribution, Packages, Python
from tests.builders import machine
from tests.diagnose.rules.packaged import found, outcome, roots, stated, supposed
from tests.matrix.samples import matrix
from tests.plan.samples import checked
from tests.shipped import shared_matrix

VENV, PIP = '"$HOME"/training', "python3.8 -m pip install"


@pytest.mark.parametrize(
    ("package", "python", "words"),
    [
        (stated("tensorflow", "2.21.0"), "3.9", "no wheel for Python 3.9 on Linux (x86_64), only for Python 3.10 to 3.13"),
        (stated("tensorflow", "2.21.0"), "3.14", "no wheel for Python 3.14"),
        (stated("torch", "2.8.0"), "3.8", "only for Python 3.11"),
    ],
)
def test_a_python_without_a_wheel_is_named_with_one_that_has(package: Distribution, python: str, words: str) -> None:
    (finding,) = found(supposed(package, python=python))
    assert (finding.name, finding.severity) == ("python-version-unsupported", Severity.ERROR)
    assert words in finding.message
    assert re.match(r'python3\.\d+ -m venv "\$HOME"/training && "\$HOME"/training/bin/python -m pip install ', finding.fixes[0].command)


def test_the_newest_release_for_this_python_is_offered() -> None:
    findings = diagnose(supposed(stated("tensorflow", "2.21.0"), python="3.9"), shared_matrix(), Policy(level=None)).findings
    assert [one.name for one in findings] == ["python-version-unsupported", "cuda-library-missing"]
    finding = findings[0]
    assert finding.fixes[0].command == "python3.9 -m pip install 'tensorflow[and-cuda]==2.20.0'"
    assert "2.21.0" not in "".join(fix.command for fix in finding.fixes), "2.21.0 does not find its CUDA libraries with any Python"


@pytest.mark.parametrize("version", ["2.10.1", "2.17.0"])
def test_pythons_at_the_bounds_have_a_wheel(version: str) -> None:
    assert roots(supposed(stated("tensorflow", version), python="3.9")) == []
    assert roots(supposed(stated("tensorflow", version), python="3.10")) == []


@pytest.mark.parametrize(
    ("numpy", "python", "nearest", "other"),
    [("numpy<2", "3.13", "3.12", "2.1.0"), ("numpy==1.26.4", "3.14", "3.12", "2.3.2"), ("numpy==2.3.0", "3.10", "3.11", "2.2.6")],
)
def test_a_numpy_without_a_wheel_keeps_its_version_with_another_python(numpy: str, python: str, nearest: str, other: str) -> None:
    (cause,) = checked("torch==2.9.1" if python == "3.14" else "torch==2.6.0", numpy, gpus=("A100",), python=python).root_causes
    keeps, gives_up = cause.fixes
    assert keeps.command.startswith(f"python{nearest} -m venv")
    assert numpy in keeps.command
    assert (gives_up.kind, gives_up.command) == (FixKind.INSTEAD, f"python{python} -m pip install numpy=={other}")


@pytest.mark.parametrize(
    ("requirements", "python", "command"),
    [
        (("tensorflow[and-cuda]==2.14.0",), "3.11", "install 'tensorflow[and-cuda]==2.14.0'"),
        (("torch==2.2.2", "numpy<2"), "3.13", "install torch==2.2.2 'numpy<2'"),
        (
            ("torch==2.2.2+cu118", "torchvision==0.17.2+cu118"),
            "3.13",
            "install torch==2.2.2+cu118 torchvision==0.17.2+cu118 --extra-index-url https://download.pytorch.org/whl/cu118",
        ),
    ],
)
def test_another_python_gets_all_that_was_asked_for(requirements: tuple[str, ...], python: str, command: str) -> None:
    cause = checked(*requirements, gpus=("A100",), python=python).root_causes[0]
    assert cause.name == "python-version-unsupported"
    assert cause.fixes[0].command.endswith(command)


def test_a_package_that_was_not_stated_is_told_with_the_one_that_requires_it() -> None:
    cause, *_ = checked("tensorflow[and-cuda]==2.14.0", gpus=("A100",), python="3.11").root_causes
    assert cause.message.startswith("tensorrt 8.5.3.1 (required by tensorflow 2.14.0) has no wheel for Python 3.11")
    assert cause.fixes[0].title == "Create an environment with Python 3.10 and install tensorflow 2.14.0 there"


def test_a_long_list_is_not_repeated_in_a_fix() -> None:
    many = [stated(name, "1.0") for name in "abcdefgh"]
    finding = next(
        one for one in found(supposed(stated("torch", "2.8.0"), *many, python="3.8")) if one.name == "python-version-unsupported"
    )
    assert finding.fixes[0].command.endswith("-m pip install torch==2.8.0")


def test_an_installed_release_was_installable() -> None:
    live = machine(
        1, packages=Packages((Distribution("tensorflow", "2.21.0", "/site"),)), python=Python("python", "named", version="3.9.1")
    )
    assert outcome(live, "python-version-unsupported") is OutcomeKind.NOT_APPLICABLE
    assert outcome(live, "package-not-installable") is OutcomeKind.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("requirement", "python", "driver", "commands"),
    [
        (
            "torch==2.8.0",
            "3.8",
            "535.104.05",
            [f"python3.9 -m venv {VENV} && {VENV}/bin/python -m pip install torch==2.8.0", f"{PIP} torch==2.4.1"],
        ),
        ("torch==2.8.0", "3.8", "470.57.02", [f"{PIP} torch==2.4.1+cu118 --index-url https://download.pytorch.org/whl/cu118"]),
    ],
    ids=["the release works with another Python", "only another release works with this driver"],
)
def test_another_release_works_with_the_driver_too(requirement: str, python: str, driver: str, commands: list[str]) -> None:
    findings = checked(requirement, gpus=("A100",), python=python, driver=driver).findings
    (found,) = (finding for finding in findings if finding.name == "python-version-unsupported")
    assert [fix.command for fix in found.fixes] == commands


@pytest.mark.parametrize(("python", "span"), [("3.7", "3.9 to 3.13"), ("3.15", "3.9 to 3.13")])
def test_the_pythons_with_a_wheel_are_a_span_of_those_with_the_gil(python: str, span: str) -> None:
    row = "torch,2.6.0,linux_x86_64,3.13t 3.10 3.9 3.13,cuda,12.4,,sm_80,none,,,,,torch-wheels"
    diagnosis = diagnose(supposed(stated("torch", "2.6.0"), python=python), matrix(torch=f"{row}\n"), Policy(level=None))
    (finding,) = (one for one in diagnosis.findings if one.name == "python-version-unsupported")
    assert finding.message.endswith(f"only for Python {span}.")


@pytest.mark.parametrize(
    ("requirements", "words"),
    [
        (("torch==1.10.1", "jax[cuda13]==0.10.0"), "torch 1.10.1 (Python 3.6 to 3.9) and jax 0.10.0 (Python 3.11 to 3.15)"),
        (("torch==2.9.0", "numpy==1.19.5"), "torch 2.9.0 (Python 3.10 to 3.14) and numpy 1.19.5 (Python 3.6 to 3.9)"),
        (("torch==2.9.0", "numpy<1.20"), "torch 2.9.0 (Python 3.10 to 3.14) and numpy<1.20 (Python 2.6 to 3.9)"),
    ],
)
def test_without_a_stated_python_one_must_have_wheels_of_all(requirements: tuple[str, ...], words: str) -> None:
    (cause,) = [finding for finding in checked(*requirements).root_causes if finding.severity is Severity.ERROR]
    assert cause.name == "python-version-unsupported"
    assert cause.message == f"No Python version has wheels of {words}."
    assert all(evidence.where for evidence in cause.evidence)


def test_where_one_python_has_wheels_of_all_nothing_is_wrong() -> None:
    assert checked("torch==2.4.0", "numpy<1.20").root_causes == ()


@pytest.mark.parametrize(
    ("package", "python", "words", "nearest"),
    [
        ("transformers==4.8.0", "3.10", "transformers 4.8.0 requires tokenizers<0.11,>=0.10.1, which has no wheel for Python 3.10", "3.9"),
        (
            "super-gradients==3.4.0",
            "3.12",
            "super-gradients 3.4.0 requires onnxruntime==1.13.1, which has no wheel for Python 3.12",
            "3.10",
        ),
        (
            "sentence-transformers==3.1.0",
            "3.13",
            "sentence-transformers 3.1.0 requires numpy<2.0.0, which has no wheel for Python 3.13",
            "3.12",
        ),
    ],
)
def test_what_a_release_requires_must_have_a_wheel_too(package: str, python: str, words: str, nearest: str) -> None:
    causes = [cause for cause in checked(package, python=python).root_causes if words in cause.message]
    assert [cause.name for cause in causes] == ["python-version-unsupported"]
    assert causes[0].fixes[0].python == nearest
    assert all(words not in cause.message for cause in checked(package, python=nearest).root_causes)


def test_what_a_table_for_linux_says_is_not_said_of_windows() -> None:
    assert "tokenizers" not in "".join(cause.message for cause in checked("transformers==4.8.0", python="3.10", os="windows").root_causes)
