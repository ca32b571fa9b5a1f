"""Plans for machines that were looked at: the recorded ones."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.plan.assumed_machine import NOT_STATED
from gpudoctor.plan.examined_machine import examined_machine, is_without_driver, python_of_snapshot
from gpudoctor.plan.proposal import PlanQuestion, proposed_plan
from gpudoctor.report.plan import Plan
from gpudoctor.snapshot import Nvml, NvmlGpu
from tests.machines import store
from tests.plan.planned import MATRIX, TORCH, assumed


def planned(name: str) -> Plan:
    """The plan for torch on a recorded machine."""
    snapshot = store.recorded(name)
    machine = examined_machine(snapshot, MATRIX)
    question = PlanQuestion(
        requirements=(TORCH,), machine=machine, preferred=python_of_snapshot(snapshot), without_driver=is_without_driver(machine)
    )
    return proposed_plan(question, MATRIX).plan


@pytest.mark.parametrize("name", store.NAMES[::20])
def test_every_machine_gets_a_plan_or_a_reason(name: str) -> None:
    plan = planned(name)
    assert plan.headline.endswith(".")
    assert (plan.environment is None) is (plan.exit_code == 1)


def test_a_machine_without_a_driver_is_told_which_one_it_needs() -> None:
    names = [name for name in store.NAMES if is_without_driver(examined_machine(store.recorded(name), MATRIX))]
    told = [plan for name in names[:5] if (plan := planned(name)).with_driver is not None]
    assert told
    for plan in told:
        assert (plan.exit_code, plan.environment) == (1, None)
        assert plan.headline.startswith("No NVIDIA driver is loaded on this machine")


def test_a_gpu_of_unknown_capability_without_a_driver_makes_the_plan_unknown() -> None:
    gpu = NvmlGpu(index=0, address=NOT_STATED, name="NVIDIA GPU", compute_capability=NOT_STATED)
    machine = msgspec.structs.replace(assumed("T4", ""), nvml=Nvml(gpus=(gpu,)))
    plan = proposed_plan(PlanQuestion(requirements=(TORCH,), machine=machine, without_driver=True), MATRIX).plan
    assert plan.with_driver is not None
    assert plan.with_driver.environment.verdict == "unknown"
    assert "name the GPU with --gpu" in plan.with_driver.environment.not_checked[0]
