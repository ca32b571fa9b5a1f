from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import MigInstance, Variables
from tests.builders import TIMED_OUT, libcuda, machine
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "mig-one-instance-per-process"


def mig(count: int) -> dict[str, Any]:
    return {"mig_enabled": True, "mig_instances": tuple(MigInstance(place, uuid=f"MIG-{place}") for place in range(count))}


@pytest.mark.parametrize(("named", "severity"), [("MIG-0", Severity.NOTE), ("MIG-0,MIG-1", Severity.WARNING)])
def test_a_program_that_asks_for_several_instances(named: str, severity: Severity) -> None:
    snapshot = with_gpus(mig(2), variables=Variables({"CUDA_VISIBLE_DEVICES": named}), libcuda_unmasked=libcuda(1))
    assert [finding.severity for finding in findings_of(RULE, snapshot)] == [severity]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus(mig(1))) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


@pytest.mark.parametrize(
    ("uuids", "command"),
    [
        (("MIG-a", "MIG-b"), "export CUDA_VISIBLE_DEVICES=MIG-a"),
        ((TIMED_OUT, "MIG-b"), "export CUDA_VISIBLE_DEVICES=MIG-b"),
        ((TIMED_OUT, TIMED_OUT), ""),
    ],
)
def test_a_process_is_given_the_first_instance_whose_name_is_known(uuids: tuple[Any, ...], command: str) -> None:
    instances = tuple(MigInstance(place, uuid=uuid) for place, uuid in enumerate(uuids))
    (finding,) = findings_of(RULE, with_gpus({"mig_enabled": True, "mig_instances": instances}))
    assert finding.fixes[0].command == command
    assert command or "nvidia-smi -L lists them" in finding.fixes[0].title
