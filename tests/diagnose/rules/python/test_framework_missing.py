from __future__ import annotations

from gpudoctor.findings import Level, Severity, Verdict
from gpudoctor.matrix import Matrix
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
