from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import Confidence, Level, OutcomeKind, Severity
from gpudoctor.snapshot import Distribution, Fact, Python, Snapshot, Variables
from tests.builders import machine, torch
from tests.diagnose.rules.packaged import found, live, outcome

ELSEWHERE = (Distribution("torch", "2.6.0", "/home/venv/lib/python3.11/site-packages"),)


@pytest.mark.parametrize(
    ("policy", "severity"),
    [
        ({"level": Level.LOOK}, Severity.NOTE),
        ({"level": Level.TRAIN}, Severity.WARNING),
        ({"level": Level.LOOK, "require": ("torch",)}, Severity.ERROR),
        ({"level": Level.TRAIN, "require": ("tensorflow",)}, Severity.WARNING),
    ],
)
def test_a_framework_in_another_environment_explains_that_none_is_here(policy: dict[str, Any], severity: Severity) -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "the first python3 on PATH", elsewhere=ELSEWHERE))
    findings = found(empty, **policy)
    (finding,) = (finding for finding in findings if finding.name == "wrong-python-environment")
    assert (finding.severity, finding.confidence) == (severity, Confidence.LIKELY)
    assert finding.fixes[0].command == 'export PATH=/home/venv/bin:"$PATH"'
    if severity is not Severity.WARNING or "require" not in policy:
        assert all(one.because_of == (finding.id,) for one in findings if one.name == "framework-missing")


@pytest.mark.parametrize(
    ("where", "says", "command"),
    [
        ("/env/lib/python3.9/site-packages", "in /env for another Python version.", "/env/bin/python -m pip install torch==2.8.0"),
        ("/env/lib/python3.11/site-packages", "in /env, whose pyvenv.cfg is missing.", "python3.11 -m venv /env"),
    ],
)
def test_what_an_environment_has_and_its_python_does_not_find_is_not_reached_by_path(where: str, says: str, command: str) -> None:
    python = Python("/env/bin/python", "named", version="3.11.2", elsewhere=(Distribution("torch", "2.6.0", where),))
    findings = found(machine(1, frameworks=(), python=python), level=Level.TRAIN)
    (finding,) = (finding for finding in findings if finding.name == "wrong-python-environment")
    assert finding.message.endswith(says)
    assert finding.fixes[0].command.startswith(command)


@pytest.mark.parametrize(
    ("version", "kind", "variables", "says", "command"),
    [
        ("3.11.2", "system", {"PYTHONNOUSERSITE": "1"}, ", which PYTHONNOUSERSITE hides.", "unset PYTHONNOUSERSITE"),
        ("3.11.2", "venv", {}, ", which virtual environments do not search.", "/env/bin/python -m pip install"),
        ("3.12.1", "system", {"PYTHONNOUSERSITE": "1"}, " for Python 3.11.", "python3.11 -m venv"),
    ],
)
def test_what_is_installed_for_the_user_is_no_environment(
    version: str, kind: str, variables: dict[str, str], says: str, command: str
) -> None:
    of_user = (Distribution("torch", "2.6.0", "/home/me/.local/lib/python3.11/site-packages"),)
    python = Python("/env/bin/python", "named", version=version, kind=kind, elsewhere=of_user)
    findings = found(machine(1, frameworks=(), python=python, variables=Variables(variables)), level=Level.TRAIN)
    (finding,) = (finding for finding in findings if finding.name == "wrong-python-environment")
    assert finding.message.endswith(f"is installed in /home/me/.local{says}")
    assert finding.fixes[0].command.startswith(command)


def compiled(interpreters: tuple[str, ...], version: str, paths: str = "") -> Snapshot:
    site = Distribution("torch", "2.8.0", "/lib/python3.11/site-packages", interpreters=interpreters)
    seen = msgspec.structs.replace(
        live(site), python=Python("/env/bin/python", "named", version=version), variables=Variables({"PYTHONPATH": paths})
    )
    return msgspec.structs.replace(seen, frameworks=(torch(version=Fact("2.8.0", "torch/version.py")),))


@pytest.mark.parametrize(
    ("interpreters", "version", "other"),
    [
        (("cp311-cp311",), "3.12.1", True),
        (("cp311-cp311",), "3.11.9", False),
        (("cp39-abi3",), "3.12.1", False),
        (("py3-none",), "3.12.1", False),
        (("cp311-cp311", "cp312-cp312"), "3.12.1", False),
        ((), "3.12.1", False),
    ],
)
def test_code_for_another_python_is_found_by_its_tags(interpreters: tuple[str, ...], version: str, other: bool) -> None:
    findings = [
        finding for finding in found(compiled(interpreters, version), level=Level.LOOK) if finding.name == "wrong-python-environment"
    ]
    assert [finding.severity for finding in findings] == ([Severity.ERROR] if other else [])


def test_first_the_folder_is_taken_off_pythonpath() -> None:
    seen = compiled(("cp311-cp311",), "3.12.1", "/x:/lib/python3.11/site-packages")
    (finding,) = (finding for finding in found(seen, level=Level.LOOK) if finding.name == "wrong-python-environment")
    assert finding.fixes[0].command == "unset PYTHONPATH"
    assert len(finding.fixes) > 1


def test_no_other_environment_is_no_wrong_one() -> None:
    empty = machine(1, frameworks=(), python=Python("/usr/bin/python3", "named", elsewhere=()))
    assert outcome(empty, "wrong-python-environment") is OutcomeKind.PASSED
    assert outcome(machine(1, frameworks=()), "wrong-python-environment") is OutcomeKind.NOT_ASKED
    assert outcome(compiled((), "3.12.1"), "wrong-python-environment") is OutcomeKind.PASSED
    assert outcome(machine(1), "wrong-python-environment") is OutcomeKind.NOT_ASKED
