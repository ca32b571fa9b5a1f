from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Action, OutcomeKind, Severity
from gpudoctor.snapshot import Libcuda, Missing, Variables
from tests.builders import TIMED_OUT, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.state.masks import masked

RULE = "cuda-visible-devices-uuid-unsupported"


@pytest.mark.parametrize(
    ("value", "shown", "kind", "words"),
    [
        ("GPU-cc", 0, OutcomeKind.FOUND, "no GPU or MIG instance here has that UUID"),
        ("MIG-cc", 0, OutcomeKind.FOUND, "no GPU or MIG instance here has that UUID"),
        ("GPU-BB", 0, OutcomeKind.FOUND, "CUDA does not accept it, although the GPU exists"),
        ("GPU-aa,GPU-cc", 1, OutcomeKind.FOUND, "CUDA shows 1 of its 2 devices"),
        ("GPU-aa,7", 1, OutcomeKind.PASSED, ""),
        ("GPU-aa,GPU-bb", 2, OutcomeKind.PASSED, ""),
        ("7", 0, OutcomeKind.NOT_APPLICABLE, ""),
    ],
)
def test_a_uuid_that_shows_nothing(value: str, shown: int, kind: OutcomeKind, words: str) -> None:
    snapshot = masked(value, shown)
    assert kinds_of(RULE, snapshot) == [kind]
    for finding in findings_of(RULE, snapshot):
        assert words in finding.message
        assert finding.severity is (Severity.WARNING if shown else Severity.ERROR)


def test_the_entries_that_name_a_gpu_stay() -> None:
    (finding,) = findings_of(RULE, masked("GPU-aa,GPU-cc", 1))
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0"
    (stale,) = findings_of(RULE, masked("GPU-cc", 0))
    assert stale.fixes[0].command == "unset CUDA_VISIBLE_DEVICES"


def test_an_answer_that_did_not_come_is_ignorance() -> None:
    unknown = machine(1, variables=Variables({"CUDA_VISIBLE_DEVICES": "GPU-aa"}), libcuda=TIMED_OUT)
    assert kinds_of(RULE, unknown) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize("unmasked", [TIMED_OUT, Libcuda(devices=TIMED_OUT)], ids=["CUDA did not answer", "its devices are unknown"])
def test_without_the_list_of_uuids_nothing_is_said_of_an_entry(unmasked: Libcuda | Missing) -> None:
    seen = msgspec.structs.replace(masked("GPU-cc", 0), libcuda_unmasked=unmasked)
    assert kinds_of(RULE, seen) == [OutcomeKind.COULD_NOT_TELL]


def test_a_number_stays_and_a_scheduler_sets_the_variable_itself() -> None:
    (finding,) = findings_of(RULE, masked("1,GPU-cc", 1))
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=1"
    job = Variables({"CUDA_VISIBLE_DEVICES": "GPU-cc", "SLURM_JOB_ID": "1"})
    (in_a_job,) = findings_of(RULE, msgspec.structs.replace(masked("GPU-cc", 0), variables=job))
    assert [(fix.command, fix.action) for fix in in_a_job.fixes] == [("", Action.RESTART_JOB)]
