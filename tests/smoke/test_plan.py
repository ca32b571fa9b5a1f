"""Which frameworks train, on which devices, and with how much of their memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.findings import Policy
from gpudoctor.smoke import TrainingPlan, planned_trainings
from gpudoctor.smoke.plan import MemoryLimit, users_of_gpu
from gpudoctor.smoke.run import _training_child
from gpudoctor.snapshot import Cause, GpuProcess, Missing, Nvml, Snapshot
from tests.builders import ABSENT, address, bare, machine, tensorflow, torch, touched
from tests.shipped import shared_matrix

GIB = 1 << 30
BOTH = (tensorflow(), torch())


def planned(snapshot: Snapshot, **wishes: Any) -> tuple[TrainingPlan, ...] | Missing:
    return planned_trainings(MachineView(snapshot, shared_matrix(), Policy(**wishes)), "/env/bin/python", force=False)


def names(plans: tuple[TrainingPlan, ...] | Missing) -> list[str]:
    assert not isinstance(plans, Missing), plans
    return [training_plan.framework for training_plan in plans]


@pytest.mark.parametrize(
    ("wanted", "trained"),
    [
        ((), ["tensorflow", "torch"]),
        (("torch",), ["torch"]),
        (("torch", "tensorflow"), ["torch", "tensorflow"]),
        (("jax", "torch"), ["torch"]),
    ],
)
def test_all_installed_or_the_named_frameworks(wanted: tuple[str, ...], trained: list[str]) -> None:
    assert names(planned(machine(1, frameworks=BOTH), frameworks=wanted)) == trained


@pytest.mark.parametrize(("wanted", "words"), [(("jax",), "jax is not installed"), (("jax", "torch"), "jax and torch are not installed")])
def test_none_of_the_named_frameworks(wanted: tuple[str, ...], words: str) -> None:
    assert planned(machine(1), frameworks=wanted) == Missing(Cause.ABSENT, words)


def with_memory(free: int, total: int) -> Snapshot:
    whole = machine(2)
    assert isinstance(whole.nvml, Nvml)
    assert not isinstance(whole.nvml.gpus, Missing)
    first, second = whole.nvml.gpus
    first = msgspec.structs.replace(first, memory_free=free, memory_total=total)
    return msgspec.structs.replace(whole, nvml=msgspec.structs.replace(whole.nvml, gpus=(first, second)))


def test_a_quarter_of_the_free_memory_is_the_limit() -> None:
    plans = planned(with_memory(60 * GIB, 80 * GIB))
    assert not isinstance(plans, Missing)
    assert plans[0].memory == {0: MemoryLimit(15 * GIB, 80 * GIB)}
    argv = _training_child(plans[0], {}).argv
    assert argv[argv.index("--memory") + 1] == f"0={15 * GIB}/{80 * GIB}"


def test_cudas_memory_counts_if_lower_or_alone() -> None:
    seen = touched(2, memory_free=8 * GIB, memory_total=10 * GIB)
    snapshot = msgspec.structs.replace(with_memory(60 * GIB, 80 * GIB), contexts=seen)
    plans = planned(snapshot)
    assert not isinstance(plans, Missing)
    assert plans[0].memory == {0: MemoryLimit(15 * GIB, 80 * GIB), 1: MemoryLimit(2 * GIB, 10 * GIB)}
    slice_of_a_card = (msgspec.structs.replace(seen[1], ordinal=0, address=address(0)),)
    plans = planned(msgspec.structs.replace(snapshot, contexts=slice_of_a_card))
    assert not isinstance(plans, Missing)
    assert plans[0].memory == {0: MemoryLimit(2 * GIB, 10 * GIB)}


def test_unknown_memory_sets_no_limit() -> None:
    plans = planned(machine(1))
    assert not isinstance(plans, Missing)
    assert plans[0].memory == {}
    assert "--memory" not in _training_child(plans[0], {}).argv


def test_on_the_cpu_there_is_no_limit() -> None:
    plans = planned(bare(pci=ABSENT), allow_cpu=True)
    assert not isinstance(plans, Missing)
    assert (plans[0].on_cpu, plans[0].memory) == (True, {})


@pytest.mark.parametrize(
    ("processes", "told"),
    [
        ((), ""),
        ((GpuProcess(7),), "in use by pid 7; --force uses it anyway"),
        ((GpuProcess(7, name="python3"), GpuProcess(8)), "in use by python3 (pid 7) and pid 8; --force uses it anyway"),
        (tuple(map(GpuProcess, range(1, 7))), "in use by pid 1, pid 2, pid 3 and 3 other processes; --force uses it anyway"),
    ],
)
def test_a_gpu_in_use_says_by_whom_and_how_to_use_it_anyway(processes: tuple[GpuProcess, ...], told: str) -> None:
    (gpu,) = MachineView(machine(1), shared_matrix(), Policy()).hardware
    assert not isinstance(gpu.nvml, Missing)
    assert users_of_gpu(msgspec.structs.replace(gpu, nvml=msgspec.structs.replace(gpu.nvml, compute_processes=processes))) == told
