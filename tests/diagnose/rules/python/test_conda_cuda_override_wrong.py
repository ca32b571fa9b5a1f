from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Python, Variables
from tests.builders import bare, machine
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "conda-cuda-override-wrong"
CONDA = Python("/opt/conda/bin/python", "the active conda environment", kind="conda")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "it is empty, so conda installs CPU builds"),
        ("newest", "'newest' is not a CUDA version"),
        ("13.0", "builds for CUDA 13.0, which need driver 580"),
    ],
)
def test_a_value_that_does_not_match_the_driver(value: str, words: str) -> None:
    override = Variables({"CONDA_OVERRIDE_CUDA": value})
    (finding,) = findings_of(RULE, machine(variables=override, python=CONDA))
    assert finding.severity is Severity.WARNING
    assert words in finding.message
    (elsewhere,) = findings_of(RULE, machine(variables=override))
    assert elsewhere.severity is Severity.NOTE


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(variables=Variables({"CONDA_OVERRIDE_CUDA": "12.4"}))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine()) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, bare(variables=Variables({"CONDA_OVERRIDE_CUDA": "12.4"}))) == [OutcomeKind.NOT_APPLICABLE]
