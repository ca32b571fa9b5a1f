from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Variables
from tests.builders import TIMED_OUT, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.state.masks import masked

RULE = "cuda-visible-devices-masked"


@pytest.mark.parametrize(
    ("value", "shown", "severity", "command"),
    [
        ("", 0, Severity.ERROR, "unset CUDA_VISIBLE_DEVICES"),
        ("-1", 0, Severity.ERROR, "unset CUDA_VISIBLE_DEVICES"),
        ("0,7", 1, Severity.WARNING, "export CUDA_VISIBLE_DEVICES=0"),
    ],
)
def test_an_entry_that_names_no_gpu(value: str, shown: int, severity: Severity, command: str) -> None:
    (finding,) = findings_of(RULE, masked(value, shown))
    assert (finding.severity, finding.fixes[0].command) == (severity, command)


def test_in_a_schedulers_job_a_gpu_is_asked_for() -> None:
    job = Variables({"CUDA_VISIBLE_DEVICES": "", "SLURM_JOB_ID": "1"})
    whole = machine(1, variables=job, libcuda=libcuda(0, 100, "CUDA_ERROR_NO_DEVICE"), libcuda_unmasked=libcuda(1))
    (finding,) = findings_of(RULE, whole)
    assert finding.fixes[0].title.startswith("Request a GPU from Slurm")


def test_other_outcomes() -> None:
    assert kinds_of(RULE, masked("1", 1)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_APPLICABLE]
    failed = libcuda(0, 100, "CUDA_ERROR_NO_DEVICE")
    neither = machine(1, variables=Variables({"CUDA_VISIBLE_DEVICES": "0"}), libcuda=failed, libcuda_unmasked=failed)
    assert kinds_of(RULE, neither) == [OutcomeKind.NOT_APPLICABLE]
    unknown = machine(1, variables=Variables({"CUDA_VISIBLE_DEVICES": "0"}), libcuda=TIMED_OUT)
    assert kinds_of(RULE, unknown) == [OutcomeKind.COULD_NOT_TELL]
