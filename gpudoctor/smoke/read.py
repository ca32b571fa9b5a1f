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
    Done,
    Ended,
    Failed,
    KernelRan,
    Mapped,
    Succeeded,
    Summed,
    Trained,
    TrainingEvent,
    Unsupported,
)
from gpudoctor.process import End, Outcome, end_of
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

Told = TypeVar("Told", bound=Observed)
About = tuple[StageKind, str, str]
"""A stage: its kind, network and device."""

OUTPUT_LIMIT = 8000
"""Characters of the child's output kept as evidence: JAX writes three tracebacks after the relevant line."""
_OF_A_NETWORK = (StageKind.TRAINING, StageKind.AGREEMENT)


def read(plan: TrainingPlan, outcome: Outcome) -> Smoke:
    """What a training child reported, and how it ended."""
    heard = Heard(outcome, TRAINING, "the script")
    stages = tuple(_stages(heard))
    ended = heard.all(Ended)
    return Smoke(
        framework=plan.framework,
        version=next((event.version for event in ended if event.version), NOT_ASKED),
        stages=stages,
        devices=_devices(plan, ended),
        kernels=tuple(_kernel(plan, event) for event in heard.all(KernelRan)),
        networks=next((event.networks for event in ended if event.networks), ("dense",)),
        trainings=tuple(_training(plan, event, heard.all(Agreed)) for event in heard.all(Trained)),
        speeds=_figures(plan, heard, Speed),
        copies=_figures(plan, heard, Copy),
        memory=_figures(plan, heard, MemoryRate),
        products=_figures(plan, heard, Product),
        compiled=_figures(plan, heard, CompiledStep),
        mapped=next((event.files for event in heard.all(Mapped)), NOT_ASKED),
        left_alone=plan.left_alone,
        output=_output(stages, outcome),
        memory_kills=_memory_kills(outcome),
    )


def read_all_reduce(devices: tuple[str, ...], outcome: Outcome, *, p2p: bool) -> AllReduce:
    """What the all-reduce child for `devices` reported, and how it ended."""
    heard = Heard(outcome, TRAINING, "the script")
    stages = tuple(_stages(heard))
    sums = tuple(_told(Sum, event) for event in heard.all(Summed))
    return AllReduce(devices, p2p, stages, sums, _output(stages, outcome))


def _output(stages: tuple[Stage, ...], outcome: Outcome) -> str | Missing:
    """The end of the child's output, if it did not end well."""
    ended_well = all(stage.state is StageState.DONE for stage in stages)
    return NOT_ASKED if ended_well else end_of(outcome.stderr + outcome.stdout, OUTPUT_LIMIT)


def _memory_kills(outcome: Outcome) -> MemoryKills | Missing:
    """The kernel's out-of-memory kills if they may be the reason: after SIGKILL, or if the child reports that one of its processes was killed."""
    seen = outcome.memory_kills
    killed = outcome.end is End.SIGNALLED and outcome.code == signal.SIGKILL
    if seen is None or not (killed or (outcome.end is End.EXITED and not seen.of_machine)):
        return NOT_ASKED
    return MemoryKills(count=seen.count, where=seen.where, of_machine=seen.of_machine)


def _stages(heard: Heard) -> Iterator[Stage]:
    """The stages in the order of their ends, then those that did not end, then lines that are no event."""
    begun: list[About] = []
    shown: set[About] = set()
    between = StageKind.START
    for event in heard.events:
        if isinstance(event, Begin):
            begun.append(_about(event))
        elif isinstance(event, Ended):
            yield _closed(event, begun, shown)
            begun, between = [about for about in begun if about != _about(event)], StageKind.BETWEEN
        elif type(event) in RESULTS:
            shown.add(_shown(event))
    over = bool(heard.all(Done) or heard.all(Failed))
    left = begun or ([] if over else [(between, "", "")])
    if heard.crash:
        yield _stage((begun or [(StageKind.BETWEEN, "", "")])[-1], StageState.DEFECT, Missing(Cause.CRASHED, heard.crash))
        return
    state, reason = _interrupted(heard.outcome), _last_words(heard.outcome)
    yield from (_stage(about, state, reason) for about in left)
    if heard.strange:
        yield _stage((StageKind.BETWEEN, "", ""), StageState.FAILED, f"the script {heard.strange}")


def _about(event: Begin | Ended) -> About:
    return event.stage, event.network, event.device


def _shown(event: Any) -> About:
    """The stage whose result an event is."""
    kind = RESULTS[type(event)]
    return kind, event.network if kind in _OF_A_NETWORK else "", getattr(event, "device", "")


def _stage(about: About, state: StageState, error: str | Missing) -> Stage:
    kind, network, device = about
    return Stage(kind, state, error=error, network=network, device=device)


def _closed(event: Ended, begun: list[About], shown: set[About]) -> Stage:
    """What an end means: success only for a stage that began and showed its result."""
    about = _about(event)
    state, error = StageState.DONE, ""
    if isinstance(event, Failed):
        state, error = StageState.UNSUPPORTED if isinstance(event, Unsupported) else StageState.FAILED, event.error
    elif about not in begun:
        state, error = StageState.FAILED, "it ended before it began"
    elif event.stage in RESULTS.values() and about not in shown:
        state, error = StageState.FAILED, "it ended without its result"
    return Stage(event.stage, state, event.seconds, error or NOT_ASKED, network=event.network, device=event.device)


def _interrupted(outcome: Outcome) -> StageState:
    if outcome.end is End.STALLED:
        return StageState.HUNG
    return StageState.STOPPED if outcome.end in {End.OVERDUE, End.STOPPED} else StageState.CRASHED


def _last_words(outcome: Outcome) -> str:
    reason = outcome.trouble or " in ".join(filter(None, ("it ended without a word", outcome.mark)))
    last = next((line for line in reversed(outcome.stderr.splitlines()) if line.strip()), "")
    return f"{reason}{LAST_OUTPUT}{last.strip()[:300]}" if last else reason


def _address(plan: TrainingPlan, device: str) -> str | Missing:
    """The PCI address of "GPU:1": frameworks number as CUDA does."""
    if not device.startswith("GPU:"):
        return NOT_ASKED
    places = {f"GPU:{ordinal}": address for ordinal, address in plan.addresses.items()}
    return places.get(device, Missing(Cause.NOT_ASKED, "not one of the trained devices"))


def _devices(plan: TrainingPlan, ended: tuple[Ended, ...]) -> tuple[SmokeDevice, ...] | Missing:
    told = next((event for event in ended if event.stage == StageKind.DEVICES and isinstance(event, Succeeded | Failed)), None)
    if told is None or (isinstance(told, Succeeded) and told.devices is None):
        return Missing(Cause.FAILED, f"{plan.framework} stopped before it listed its devices")
    return tuple(
        SmokeDevice(
            name=device.name,
            kind=device.kind,
            model=device.model or NOT_ASKED,
            compute_capability=device.compute_capability or NOT_ASKED,
            address=_address(plan, device.name),
        )
        for device in told.devices or ()
    )


def _told(kind: type[Told], event: TrainingEvent, **added: Any) -> Told:
    """The observation with an event's fields, and those that the child cannot tell."""
    known = msgspec.structs.asdict(event) | added
    return kind(**{name: known[name] for name in kind.__struct_fields__ if name in known})


def _place(event: Any, place: str) -> str:
    """A place in physical terms: if other GPUs are hidden, the framework counts the visible ones from 0."""
    return event.device if event.logical and place.endswith(event.logical) else place


def _kernel(plan: TrainingPlan, event: Any) -> Kernel:
    return _told(Kernel, event, ran_on=_place(event, event.ran_on), address=_address(plan, event.device))


def _training(plan: TrainingPlan, event: Any, agreed: tuple[Any, ...]) -> Training:
    placement = event.placement
    places = {_place(event, place) for place in (*placement.variables, *placement.gradients, *placement.outputs)}
    compared = next((one for one in agreed if (one.device, one.network) == (event.device, event.network)), None)
    agreement = _told(Agreement, compared) if compared else Missing(Cause.FAILED, "the comparison with the CPU did not finish")
    return _told(Training, event, placed_on=tuple(sorted(places)), address=_address(plan, event.device), agreement=agreement)


def _figures(plan: TrainingPlan, heard: Heard, kind: type[Told]) -> tuple[Told, ...]:
    """The measurements of one kind."""
    measured: tuple[Any, ...] = heard.all(MEASURED[kind])
    return tuple(_told(kind, event, address=_address(plan, event.device)) for event in measured)
