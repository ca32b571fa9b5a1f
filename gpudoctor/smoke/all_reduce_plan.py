"""Which devices to run all-reduce over after training, and whether the outcome calls for a control run without P2P."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.derive.all_reduce import AllReduceResult, all_reduce_result
from gpudoctor.smoke.plan import TrainingPlan
from gpudoctor.snapshot import NOT_ASKED, AllReduce, Cause, Missing, Smoke

WITHOUT_P2P = {"NCCL_P2P_DISABLE": "1"}
"""https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; all three frameworks use NCCL for all-reduce on GPUs."""
CPU_DEVICES = ("CPU:0", "CPU:1")
"""The names of the two devices that the child makes of the CPU."""


def all_reduce_devices(plan: TrainingPlan, trained: Smoke) -> tuple[str, ...] | Missing:
    """The devices for all-reduce: those that finished training; on the CPU, two that the framework makes of it."""
    if not plan.measure:
        return NOT_ASKED
    finished = {training.device for training in trained.trainings}
    if plan.on_cpu:
        return CPU_DEVICES if finished else Missing(Cause.FAILED, "nothing was trained")
    if len(plan.devices) < 2:
        return Missing(Cause.ABSENT, "all-reduce needs two GPUs")
    devices = tuple(f"GPU:{ordinal}" for ordinal in plan.devices if f"GPU:{ordinal}" in finished)
    return devices if len(devices) > 1 else Missing(Cause.FAILED, f"training finished on {len(devices)} of {len(plan.devices)} GPUs")


def is_p2p_allowed(environment: Mapping[str, str]) -> bool:
    """Whether NCCL's environment allows P2P."""
    return not WITHOUT_P2P.items() <= environment.items()


def is_control_needed(plan: TrainingPlan, run: AllReduce) -> bool:
    """Whether P2P may be the cause of a wrong result."""
    return not plan.on_cpu and run.p2p and all_reduce_result(run) in {AllReduceResult.WRONG, AllReduceResult.HUNG, AllReduceResult.FAILED}
