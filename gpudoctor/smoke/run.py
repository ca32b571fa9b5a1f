"""Runs the planned training, each plan in its own child, and reads events as they come; then runs all-reduce over all devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gpudoctor.children.channel import decoded, script
from gpudoctor.children.training import TRAINING, Begin, Ended, Number
from gpudoctor.process import ChildOutcome, ChildSpec, Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.smoke.all_reduce_plan import WITHOUT_P2P, all_reduce_devices, is_control_needed, is_p2p_allowed
from gpudoctor.smoke.plan import TrainingPlan
from gpudoctor.smoke.results import all_reduce_of_outcome, smoke_of_outcome
from gpudoctor.smoke.scratch import scratch_folder
from gpudoctor.snapshot import AllReduce, Missing, Smoke, Stage, StageKind, StageState

STALL_SECONDS = 300.0
"""Seconds without a response: a cold file system or PTX compilation for a new GPU keeps a healthy framework busy for minutes."""
ALL_REDUCE_STALL_SECONDS = 60.0
"""The same during all-reduce: connecting devices takes seconds, and the frameworks themselves would wait for ten minutes or more."""
DEADLINE_SECONDS = 1800.0

_NCCL_FILES = "/dev/shm/nccl-"  # noqa: S108 -- NCCL's own files, in its src/os/linux.cc; it removes them as soon as all processes have them


def run_trainings(
    plans: tuple[TrainingPlan, ...],
    supervisor: Supervisor,
    environment: Mapping[str, str],
    progress: Progress,
    *,
    done: Callable[[Smoke], None],
) -> None:
    """Give `done` the outcome of each plan, in order.

    After an interrupt, `done` also gets what the interrupted training showed so far.
    """
    for plan in plans:
        run = _PlanRun(plan, supervisor, progress)
        try:
            if plan.unsupported:
                run.smoke = Smoke(
                    framework=plan.framework,
                    stages=(Stage(StageKind.START, state=StageState.UNSUPPORTED, error=plan.unsupported),),
                    left_alone=plan.left_alone,
                )
            elif plan.devices or plan.on_cpu:
                with scratch_folder() as place:
                    run.train({**environment, **place})
                    run.sum({**environment, **place})
        finally:
            done(run.smoke)


class _PlanRun:
    """The children of one plan, and what they showed so far."""

    def __init__(self, plan: TrainingPlan, supervisor: Supervisor, progress: Progress) -> None:
        self.smoke = Smoke(framework=plan.framework, left_alone=plan.left_alone)
        self._plan, self._supervisor, self._progress = plan, supervisor, progress

    def train(self, environment: Mapping[str, str]) -> None:
        def keep(outcome: ChildOutcome) -> None:
            self.smoke = smoke_of_outcome(self._plan, outcome)

        self._run_child(_training_child(self._plan, environment), keep)

    def sum(self, environment: Mapping[str, str]) -> None:
        """Over all devices, and again without P2P if that may be the cause."""
        devices = all_reduce_devices(self._plan, self.smoke)
        if isinstance(devices, Missing):
            self.smoke = msgspec.structs.replace(self.smoke, all_reduces=devices)
            return
        first = self._run_all_reduce(devices, environment)
        if is_control_needed(self._plan, first):
            self._run_all_reduce(devices, {**environment, **WITHOUT_P2P})

    def _run_all_reduce(self, devices: tuple[str, ...], environment: Mapping[str, str]) -> AllReduce:
        before = self.smoke.all_reduces if isinstance(self.smoke.all_reduces, tuple) else ()
        p2p = is_p2p_allowed(environment)

        def keep(outcome: ChildOutcome) -> None:
            run = all_reduce_of_outcome(devices, outcome, p2p=p2p)
            self.smoke = msgspec.structs.replace(self.smoke, all_reduces=(*before, run))

        self._run_child(_all_reduce_child(self._plan, devices, environment), keep, shorter=StageKind.ALL_REDUCE)
        assert isinstance(self.smoke.all_reduces, tuple)  # noqa: S101 -- keep() has seen to it
        return self.smoke.all_reduces[-1]

    def _run_child(self, spec: ChildSpec, keep: Callable[[ChildOutcome], None], shorter: StageKind | None = None) -> None:
        """Run a child to its end; the stage `shorter` has a shorter stall limit."""

        def hear(line: bytes) -> None:
            event, _ = decoded(line, TRAINING)
            if isinstance(event, Begin | Ended | Number):
                _report_progress(self._plan.framework, event, self._progress)
            if isinstance(event, Begin) and event.stage == shorter:
                self._supervisor.set_stall_limit(spec.name, ALL_REDUCE_STALL_SECONDS)

        self._supervisor.start(spec, hear)
        try:
            self._supervisor.wait([spec.name])
        finally:
            self._supervisor.stop([spec.name])
            for outcome in self._supervisor.wait([spec.name]).values():
                keep(outcome)


def _training_child(plan: TrainingPlan, environment: Mapping[str, str]) -> ChildSpec:
    devices = "cpu" if plan.on_cpu else ",".join(str(ordinal) for ordinal in plan.devices)
    return _child_spec(plan, environment, "", devices, *(("--measure",) if plan.measure else ()))


def _all_reduce_child(plan: TrainingPlan, devices: tuple[str, ...], environment: Mapping[str, str]) -> ChildSpec:
    ordinals = "cpu" if plan.on_cpu else ",".join(device.removeprefix("GPU:") for device in devices)
    return _child_spec(
        plan, environment, " all-reduce" if is_p2p_allowed(environment) else " all-reduce without P2P", ordinals, "--all-reduce"
    )


def _child_spec(plan: TrainingPlan, environment: Mapping[str, str], what: str, devices: str, *more: str) -> ChildSpec:
    memory = ",".join(f"{ordinal}={limit.limit}/{limit.total}" for ordinal, limit in sorted(plan.memory.items()))
    limits = ("--memory", memory) if memory else ()
    arguments = ("--framework", plan.framework, "--devices", devices, *limits, *more)
    name, interpreter = f"smoke {plan.framework}{what}", (plan.executable,)
    return script(
        name, "train/smoke.py", interpreter, environment, *arguments, stall=STALL_SECONDS, deadline=DEADLINE_SECONDS, shares=_NCCL_FILES
    )


def _report_progress(framework: str, event: Begin | Ended | Number, progress: Progress) -> None:
    """Pass on what an event means to somebody who watches."""
    where = event.network, event.device
    if isinstance(event, Number):
        progress(Event("number", event.name, framework, *where, float(event.value), event.step, event.steps))
    else:
        progress(Event("begin" if isinstance(event, Begin) else "end", event.stage, framework, *where))
