"""Whether and over what to sum after a training, and whether the outcome asks for a control without P2P."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.derive.all_reduce import Result, result
from gpudoctor.smoke.plan import Plan
from gpudoctor.snapshot import NOT_ASKED, AllReduce, Cause, Missing, Smoke

P2P_OFF = {"NCCL_P2P_DISABLE": "1"}
"""https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; all three frameworks sum over GPUs by NCCL."""
CPUS = ("CPU:0", "CPU:1")
"""What the child makes of the CPU."""


def partners(plan: Plan, trained: Smoke) -> tuple[str, ...] | Missing:
    """The devices to sum over: those that a training was finished on; on the CPU, two that the framework makes of it."""
    if not plan.measure:
        return NOT_ASKED
    finished = {training.device for training in trained.trainings}
    if plan.on_cpu:
        return CPUS if finished else Missing(Cause.FAILED, "nothing was trained")
    if len(plan.devices) < 2:
        return Missing(Cause.ABSENT, "one GPU has nothing to sum with")
    devices = tuple(f"GPU:{ordinal}" for ordinal in plan.devices if f"GPU:{ordinal}" in finished)
    return devices if len(devices) > 1 else Missing(Cause.FAILED, f"a training was finished on {len(devices)} of {len(plan.devices)} GPUs")


def free(environment: Mapping[str, str]) -> bool:
    """Whether NCCL may use P2P by its environment."""
    return not P2P_OFF.items() <= environment.items()


def needs_control(plan: Plan, run: AllReduce) -> bool:
    """Whether P2P may be why it was not right."""
    return not plan.on_cpu and run.p2p and result(run) in {Result.WRONG, Result.HUNG, Result.FAILED}
