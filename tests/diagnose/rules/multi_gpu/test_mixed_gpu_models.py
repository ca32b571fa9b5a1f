from __future__ import annotations

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Variables
from tests.builders import machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "mixed-gpu-models"
LARGE, SMALL = {"name": "NVIDIA A100-SXM4-80GB", "memory_total": 80 << 30}, {"name": "NVIDIA T4", "memory_total": 15 << 30}


def test_models_are_counted_and_the_first_selected() -> None:
    (finding,) = findings_of(RULE, with_gpus(LARGE, SMALL, LARGE))
    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("2 × NVIDIA A100-SXM4-80GB, 1 × NVIDIA T4; the smallest has 15 GiB.")  # noqa: RUF001 -- a cross counts
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0,2"


def test_in_a_job_it_is_a_warning() -> None:
    (finding,) = findings_of(RULE, with_gpus(LARGE, SMALL, variables=Variables({"SLURM_JOB_ID": "7"})))
    assert finding.severity is Severity.WARNING


def test_one_model_passes() -> None:
    assert kinds_of(RULE, machine(4)) == [OutcomeKind.PASSED]
