"""Turns the events of a smoke child into observations: a stage that ends without its result has shown nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from gpudoctor.children.channel import Heard
from gpudoctor.children.training import (
    MEASURED,
    RESULTS,
    TRAINING,
    Agreed,
    Begin,
    Ended,
    Failed,
    KernelRan,
    Mapped,
    Succeeded,
    Summed,
    Trained,
    TrainingDone,
    TrainingEvent,
    Unsupported,
)
from gpudoctor.process import ChildEnd, ChildOutcome, end_of_text
from gpudoctor.smoke.plan import TrainingPlan
from gpudoctor.snapshot import (
    LAST_OUTPUT,
    NOT_ASKED,
    Agreement,
    AllReduce,
    Cause,
    CompiledStep,
    Copy,
    Kernel,
    MemoryKills,
    MemoryRate,
    Missing,
    Observed,
    Product,
    Smoke,
    SmokeDevice,
    Speed,
    Stage,
    StageKind,
    StageState,
    Sum,
    Training,
)

ObservedStruct = TypeVar("ObservedStruct", bound=Observed)
StageKey = tuple[StageKind, str, str]
"""A stage: its kind, network and device."""

MAX_OUTPUT = 8000
"""Characters of the child's output kept as evidence: JAX writes three tracebacks after the relevant line."""
_STAGES_WITH_NETWORK = (StageKind.TRAINING, StageKind.AGREEMENT)


def smoke_of_outcome(plan: TrainingPlan, outcome: ChildOutcome) -> Smoke:
    """What a training child reported, and how it ended."""
    heard = Heard(outcome, TRAINING, "the script")
    stages = tuple(_observed_stages(heard))
    ended = heard.all(Ended)
    return Smoke(
        framework=plan.framework,
        version=next((event.version for event in ended if event.version), NOT_ASKED),
        stages=stages,
        devices=_reported_devices(plan, ended),
        kernels=tuple(_kernel_result(plan, event) for event in heard.all(KernelRan)),
        networks=next((event.networks for event in ended if event.networks), ("dense",)),
        trainings=tuple(_training_result(plan, event, heard.all(Agreed)) for event in heard.all(Trained)),
        speeds=_measurements(plan, heard, Speed),
        copies=_measurements(plan, heard, Copy),
        memory=_measurements(plan, heard, MemoryRate),
        products=_measurements(plan, heard, Product),
        compiled=_measurements(plan, heard, CompiledStep),
        mapped=next((event.files for event in heard.all(Mapped)), NOT_ASKED),
        left_alone=plan.left_alone,
        output=_output_of_failure(stages, outcome),
        memory_kills=_memory_kills(outcome),
    )


def all_reduce_of_outcome(devices: tuple[str, ...], outcome: ChildOutcome, *, p2p: bool) -> AllReduce:
    """What the all-reduce child for `devices` reported, and how it ended."""
    heard = Heard(outcome, TRAINING, "the script")
    stages = tuple(_observed_stages(heard))
    sums = tuple(_observation(Sum, event) for event in heard.all(Summed))
    return AllReduce(devices, p2p, stages, sums, _output_of_failure(stages, outcome))


def _output_of_failure(stages: tuple[Stage, ...], outcome: ChildOutcome) -> str | Missing:
    """The end of the child's output, if it did not end well."""
    ended_well = all(stage.state is StageState.DONE for stage in stages)
    return NOT_ASKED if ended_well else end_of_text(outcome.stderr + outcome.stdout, MAX_OUTPUT)


def _memory_kills(outcome: ChildOutcome) -> MemoryKills | Missing:
    """The kernel's out-of-memory kills if they may be the reason: after SIGKILL, or if the child reports that one of its processes was killed."""
    seen = outcome.memory_kills
    killed = outcome.end is ChildEnd.SIGNALLED and outcome.code == signal.SIGKILL
    if seen is None or not (killed or (outcome.end is ChildEnd.EXITED and not seen.of_machine)):
        return NOT_ASKED
    return MemoryKills(count=seen.count, where=seen.where, of_machine=seen.of_machine)


def _observed_stages(heard: Heard) -> Iterator[Stage]:
    """The stages in the order of their ends, then those that did not end, then lines that are no event."""
    begun: list[StageKey] = []
    shown: set[StageKey] = set()
    between = StageKind.START
    for event in heard.events:
        if isinstance(event, Begin):
            begun.append(_stage_key(event))
        elif isinstance(event, Ended):
            yield _ended_stage(event, begun, shown)
            begun, between = [about for about in begun if about != _stage_key(event)], StageKind.BETWEEN
        elif type(event) in RESULTS:
            shown.add(_key_of_result(event))
    over = bool(heard.all(TrainingDone) or heard.all(Failed))
    left = begun or ([] if over else [(between, "", "")])
    if heard.crash:
        yield _stage_of_key((begun or [(StageKind.BETWEEN, "", "")])[-1], StageState.DEFECT, Missing(Cause.CRASHED, heard.crash))
        return
    state, reason = _interrupted_state(heard.outcome), _failure_sentence(heard.outcome)
    yield from (_stage_of_key(about, state, reason) for about in left)
    if heard.strange:
        yield _stage_of_key((StageKind.BETWEEN, "", ""), StageState.FAILED, f"the script {heard.strange}")


def _stage_key(event: Begin | Ended) -> StageKey:
    return event.stage, event.network, event.device


def _key_of_result(event: Any) -> StageKey:
    """The stage whose result an event is."""
    kind = RESULTS[type(event)]
    return kind, event.network if kind in _STAGES_WITH_NETWORK else "", getattr(event, "device", "")


def _stage_of_key(about: StageKey, state: StageState, error: str | Missing) -> Stage:
    kind, network, device = about
    return Stage(kind, state, error=error, network=network, device=device)


def _ended_stage(event: Ended, begun: list[StageKey], shown: set[StageKey]) -> Stage:
    """What an end means: success only for a stage that began and showed its result."""
    about = _stage_key(event)
    state, error = StageState.DONE, ""
    if isinstance(event, Failed):
        state, error = StageState.UNSUPPORTED if isinstance(event, Unsupported) else StageState.FAILED, event.error
    elif about not in begun:
        state, error = StageState.FAILED, "it ended before it began"
    elif event.stage in RESULTS.values() and about not in shown:
        state, error = StageState.FAILED, "it ended without its result"
    return Stage(event.stage, state, event.seconds, error or NOT_ASKED, network=event.network, device=event.device)


def _interrupted_state(outcome: ChildOutcome) -> StageState:
    if outcome.end is ChildEnd.STALLED:
        return StageState.HUNG
    return StageState.STOPPED if outcome.end in {ChildEnd.OVERDUE, ChildEnd.STOPPED} else StageState.CRASHED


def _failure_sentence(outcome: ChildOutcome) -> str:
    reason = outcome.trouble or " in ".join(filter(None, ("it ended without a word", outcome.mark)))
    last = next((line for line in reversed(outcome.stderr.splitlines()) if line.strip()), "")
    return f"{reason}{LAST_OUTPUT}{last.strip()[:300]}" if last else reason


def _device_address(plan: TrainingPlan, device: str) -> str | Missing:
    """The PCI address of "GPU:1": frameworks number as CUDA does."""
    if not device.startswith("GPU:"):
        return NOT_ASKED
    places = {f"GPU:{ordinal}": address for ordinal, address in plan.addresses.items()}
    return places.get(device, Missing(Cause.NOT_ASKED, "not one of the trained devices"))


def _reported_devices(plan: TrainingPlan, ended: tuple[Ended, ...]) -> tuple[SmokeDevice, ...] | Missing:
    told = next((event for event in ended if event.stage == StageKind.DEVICES and isinstance(event, Succeeded | Failed)), None)
    if told is None or (isinstance(told, Succeeded) and told.devices is None):
        return Missing(Cause.FAILED, f"{plan.framework} stopped before it listed its devices")
    return tuple(
        SmokeDevice(
            name=device.name,
            kind=device.kind,
            model=device.model or NOT_ASKED,
            compute_capability=device.compute_capability or NOT_ASKED,
            address=_device_address(plan, device.name),
        )
        for device in told.devices or ()
    )


def _observation(kind: type[ObservedStruct], event: TrainingEvent, **added: Any) -> ObservedStruct:
    """The observation with an event's fields, and those that the child cannot tell."""
    known = msgspec.structs.asdict(event) | added
    return kind(**{name: known[name] for name in kind.__struct_fields__ if name in known})


def _physical_place(event: Any, place: str) -> str:
    """A place in physical terms: if other GPUs are hidden, the framework counts the visible ones from 0."""
    return event.device if event.logical and place.endswith(event.logical) else place


def _kernel_result(plan: TrainingPlan, event: Any) -> Kernel:
    return _observation(Kernel, event, ran_on=_physical_place(event, event.ran_on), address=_device_address(plan, event.device))


def _training_result(plan: TrainingPlan, event: Any, agreed: tuple[Any, ...]) -> Training:
    placement = event.placement
    places = {_physical_place(event, place) for place in (*placement.variables, *placement.gradients, *placement.outputs)}
    compared = next((one for one in agreed if (one.device, one.network) == (event.device, event.network)), None)
    agreement = _observation(Agreement, compared) if compared else Missing(Cause.FAILED, "the comparison with the CPU did not finish")
    return _observation(Training, event, placed_on=tuple(sorted(places)), address=_device_address(plan, event.device), agreement=agreement)


def _measurements(plan: TrainingPlan, heard: Heard, kind: type[ObservedStruct]) -> tuple[ObservedStruct, ...]:
    """The measurements of one kind."""
    measured: tuple[Any, ...] = heard.all(MEASURED[kind])
    return tuple(_observation(kind, event, address=_device_address(plan, event.device)) for event in measured)
