from __future__ import annotations

import pytest

from gpudoctor.findings import Level, Severity, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Packages
from tests.builders import machine, smoke
from tests.diagnose.rules.python.required import HEALTHY, about, names


def test_a_required_framework_that_is_missing_stays_an_error_where_another_trains(matrix: Matrix) -> None:
    diagnosis = about(machine(1, smoke=(smoke(1),)), matrix, "torch>=2.4", level=Level.TRAIN)
    assert names(diagnosis) == ["framework-missing"]
    assert "pip install torch==2." in " ".join(fix.command for fix in diagnosis.findings[0].fixes)


def test_a_framework_that_was_named_and_is_not_there_is_an_error(matrix: Matrix) -> None:
    diagnosis = about(HEALTHY, matrix, frameworks=("tensorflow", "torch"))
    (finding,) = diagnosis.findings
    assert (finding.name, finding.title) == ("framework-missing", "torch is requested with --framework but not installed")
    assert diagnosis.verdict is Verdict.BROKEN
    both = about(HEALTHY, matrix, "torch>=2.4", frameworks=("torch",))
    assert [one.title for one in both.findings] == ["torch>=2.4 is required but not installed"]
    assert names(about(HEALTHY, matrix, frameworks=("tensorflow",))) == []


def test_an_empty_environment_is_a_note_where_nothing_is_trained(matrix: Matrix) -> None:
    empty = machine(1, frameworks=())
    (note,) = [finding for finding in about(empty, matrix).findings if finding.name == "framework-missing"]
    assert note.severity is Severity.NOTE
    assert note.message.startswith("Neither TensorFlow, PyTorch nor JAX is installed in /env/bin/python")
    (warning,) = [finding for finding in about(empty, matrix, level=Level.TRAIN).findings if finding.name == "framework-missing"]
    assert warning.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("left", "pin"),
    [
        ("~orch==2.6.0", "torch==2.6.0"),
        ("~-nsorflow==2.19.0", "tensorflow[and-cuda]==2.19.0"),
        ("~ax==0.6.0", "jax[cuda12]==0.6.0"),
        ("~orchvision==0.21.0", ""),
        ("orch==2.6.0", ""),
        ("~idia-cudnn-cu12==9.1.0", ""),
    ],
)
def test_what_an_interrupted_pip_left_of_a_framework_is_named(left: str, pin: str, matrix: Matrix) -> None:
    seen = machine(1, frameworks=(), packages=Packages((), others=(left,)))
    (finding,) = [one for one in about(seen, matrix).findings if one.name == "framework-missing"]
    assert (finding.severity is Severity.ERROR) is bool(pin)
    if pin:
        assert next(fix for fix in finding.fixes if fix.installs).installs[0].startswith(pin)
        assert "pip did not finish" in finding.message
