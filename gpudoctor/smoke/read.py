"""From the lines that a smoke child wrote to what was observed; a half-written or garbled answer costs only itself."""

from __future__ import annotations

import signal
from typing import TypeVar

import msgspec

from gpudoctor.process import End, Outcome, crash, end_of
from gpudoctor.smoke.plan import Plan
from gpudoctor.snapshot import (
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
    Product,
    Real,
    Smoke,
    SmokeDevice,
    Speed,
    Stage,
    StageKind,
    StageState,
    Sum,
    Training,
)

Figure = TypeVar("Figure", Speed, Copy, MemoryRate, Product, CompiledStep)

OUTPUT_LIMIT = 8000
"""Characters of the child's output that are kept as evidence: JAX writes three tracebacks after the line that tells."""


_ENDED_EARLY = {"failed": StageState.FAILED, "unsupported": StageState.UNSUPPORTED}
"""The events of a stage that did not come to its end."""


class _Placement(msgspec.Struct):
    variables: list[str] = []
    gradients: list[str] = []
    outputs: list[str] = []


class _Device(msgspec.Struct):
    name: str
    kind: str
    model: str | None = None
    compute_capability: str | None = None


class _Line(msgspec.Struct):
    """Everything that any event may carry; smoke/child lists which has what."""

    event: str
    stage: str = ""
    files: list[str] = []
    device: str = ""
    logical: str = ""
    seconds: Real = 0.0
    error: Real | str = 0.0
    version: str | None = None
    network: str = ""
    networks: list[str] = []
    devices: list[_Device] = []
    ran_on: str = ""
    tolerance: float = 0.0
    steps: int = 0
    losses: list[Real] = []
    accuracy: Real = 0.0
    expected_accuracy: float = 1.0
    samples_per_second: Real = 0.0
    cpu_samples_per_second: Real = 0.0
    batch: int = 0
    direction: str = ""
    pinned: bool = False
    size: int = 0
    bytes_per_second: Real = 0.0
    bus_bytes_per_second: Real = 0.0
    repetitions: int = 0
    wrong: list[str] = []
    precision: str = ""
    flops: Real = 0.0
    compiler: str = ""
    step_seconds: Real = 0.0
    loss_difference: Real = 0.0
    placement: _Placement | None = None
    max_loss_difference: Real = 0.0
    max_weight_difference: Real = 0.0
    loss_tolerance: float = 0.0
    weight_tolerance: float = 0.0


def read(plan: Plan, outcome: Outcome) -> Smoke:
    """What a training child reported, and how it ended."""
    lines = _lines(outcome)
    stages = _stages(lines, outcome)
    return Smoke(
        framework=plan.framework,
        version=next((line.version for line in lines if line.version), NOT_ASKED),
        stages=stages,
        devices=_devices(plan, lines),
        kernels=tuple(_kernel(plan, line) for line in lines if line.event == "kernel"),
        networks=next(
            (tuple(line.networks) or ("dense",) for line in lines if line.event == "end" and line.stage == "devices"), ("dense",)
        ),
        trainings=tuple(_training(plan, line, lines) for line in lines if line.event == "training"),
        speeds=_all(plan, lines, "speed", Speed),
        copies=_all(plan, lines, "copy", Copy),
        memory=_all(plan, lines, "memory", MemoryRate),
        products=_all(plan, lines, "product", Product),
        compiled=_all(plan, lines, "compiled", CompiledStep),
        mapped=next((tuple(line.files) for line in lines if line.event == "mapped"), NOT_ASKED),
        left_alone=plan.left_alone,
        output=_output(stages, outcome),
        memory_kills=_memory_kills(outcome),
    )


def read_all_reduce(devices: tuple[str, ...], outcome: Outcome, *, p2p: bool) -> AllReduce:
    """What a child reported that summed over `devices`, and how it ended."""
    lines = _lines(outcome)
    stages = _stages(lines, outcome)
    sums = (
        Sum(line.size, line.repetitions, line.seconds, line.bus_bytes_per_second, _number(line.error), tuple(line.wrong))
        for line in lines
        if line.event == "sum"
    )
    return AllReduce(devices, p2p, stages, tuple(sums), _output(stages, outcome))


def _lines(outcome: Outcome) -> list[_Line]:
    return [line for line in map(_line, outcome.lines) if line is not None]


def _output(stages: tuple[Stage, ...], outcome: Outcome) -> str | Missing:
    """The end of what the child wrote, where it did not end well."""
    ended_well = all(stage.state is StageState.DONE for stage in stages)
    return NOT_ASKED if ended_well else end_of(outcome.stderr + outcome.stdout, OUTPUT_LIMIT)


def _memory_kills(outcome: Outcome) -> MemoryKills | Missing:
    """What the kernel killed where that may be why: it sends SIGKILL; and a child may report in words that one of its own processes was."""
    seen = outcome.memory_kills
    killed = outcome.end is End.SIGNALLED and outcome.code == signal.SIGKILL
    if seen is None or not (killed or (outcome.end is End.EXITED and not seen.of_machine)):
        return NOT_ASKED
    return MemoryKills(count=seen.count, where=seen.where, of_machine=seen.of_machine)


def _line(raw: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(raw, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _stages(lines: list[_Line], outcome: Outcome) -> tuple[Stage, ...]:
    stages = []
    open_stages: list[tuple[StageKind, str, str]] = []
    for line in lines:
        if line.event == "begin":
            open_stages.append(_about(line))
        elif line.event in {"end", *_ENDED_EARLY}:
            open_stages = [about for about in open_stages if about != _about(line)]
            stages.append(_closed(line))
    over = any(line.event in {"done", *_ENDED_EARLY} for line in lines)
    if not open_stages and not over:
        open_stages = [(StageKind.BETWEEN if stages else StageKind.START, "", "")]
    if broke := crash(outcome):
        kind, network, device = (open_stages or [(StageKind.BETWEEN, "", "")])[-1]
        stages.append(Stage(kind, StageState.DEFECT, error=Missing(Cause.CRASHED, broke), network=network, device=device))
        return tuple(stages)
    state, reason = _interrupted(outcome), outcome.trouble or " in ".join(filter(None, ("it ended without a word", outcome.mark)))
    error = _with_last_words(reason, outcome)
    stages.extend(Stage(kind, state, error=error, network=network, device=device) for kind, network, device in open_stages)
    return tuple(stages)


def _about(line: _Line) -> tuple[StageKind, str, str]:
    return StageKind(line.stage), line.network, line.device


def _closed(line: _Line) -> Stage:
    seconds: float | Missing = line.seconds if isinstance(line.seconds, float | int) else NOT_ASKED
    about = {"network": line.network, "device": line.device}
    if line.event == "end":
        return Stage(StageKind(line.stage), StageState.DONE, seconds, **about)
    return Stage(StageKind(line.stage), _ENDED_EARLY[line.event], seconds, str(line.error), **about)


def _interrupted(outcome: Outcome) -> StageState:
    if outcome.end is End.STALLED:
        return StageState.HUNG
    return StageState.STOPPED if outcome.end in {End.OVERDUE, End.STOPPED} else StageState.CRASHED


def _with_last_words(reason: str, outcome: Outcome) -> str:
    last = next((line for line in reversed(outcome.stderr.splitlines()) if line.strip()), "")
    return f"{reason}; its last words: {last.strip()[:300]}" if last else reason


def _address(plan: Plan, device: str) -> str | Missing:
    """The PCI address of "GPU:1": frameworks number as CUDA does."""
    kind, _, number = device.partition(":")
    if kind != "GPU" or not number.isdigit():
        return NOT_ASKED
    return plan.addresses.get(int(number), Missing(Cause.NOT_ASKED, "not among the devices trained on"))


def _devices(plan: Plan, lines: list[_Line]) -> tuple[SmokeDevice, ...] | Missing:
    told = next((line for line in lines if line.stage == "devices" and line.event in {"end", "failed"}), None)
    if told is None:
        return Missing(Cause.FAILED, f"{plan.framework} did not get as far as listing its devices")
    return tuple(
        SmokeDevice(
            name=device.name,
            kind=device.kind,
            model=device.model or NOT_ASKED,
            compute_capability=device.compute_capability or NOT_ASKED,
            address=_address(plan, device.name),
        )
        for device in told.devices
    )


def _place(line: _Line, place: str) -> str:
    """A place in physical terms: where other GPUs are hidden, the framework counts the shown ones from 0."""
    return line.device if line.logical and place.endswith(line.logical) else place


def _kernel(plan: Plan, line: _Line) -> Kernel:
    return Kernel(
        device=line.device,
        ran_on=_place(line, line.ran_on),
        error=_number(line.error),
        tolerance=line.tolerance,
        address=_address(plan, line.device),
    )


def _number(value: Real | str) -> Real:
    return value if isinstance(value, int | float) or value in {"nan", "inf", "-inf"} else "nan"  # type: ignore[return-value]


def _training(plan: Plan, line: _Line, lines: list[_Line]) -> Training:
    placement = line.placement or _Placement()
    places = {_place(line, place) for place in (*placement.variables, *placement.gradients, *placement.outputs)}
    about = ("agreement", line.device, line.network)
    agreed = next((other for other in lines if (other.event, other.device, other.network) == about), None)
    return Training(
        device=line.device,
        placed_on=tuple(sorted(places)),
        steps=line.steps,
        losses=tuple(line.losses),
        accuracy=line.accuracy,
        expected_accuracy=line.expected_accuracy,
        seconds=line.seconds,
        samples_per_second=line.samples_per_second,
        address=_address(plan, line.device),
        agreement=_agreement(agreed) if agreed else Missing(Cause.FAILED, "the comparison with the CPU was not finished"),
        network=line.network or "dense",
    )


def _all(plan: Plan, lines: list[_Line], event: str, kind: type[Figure]) -> tuple[Figure, ...]:
    """What was measured, of one kind; its fields are named as the event's."""
    names = [name for name in kind.__struct_fields__ if name != "address"]
    found = [line for line in lines if line.event == event]
    return tuple(kind(address=_address(plan, line.device), **{name: getattr(line, name) for name in names}) for line in found)


def _agreement(line: _Line) -> Agreement:
    return Agreement(
        steps=line.steps,
        loss_difference=line.max_loss_difference,
        weight_difference=line.max_weight_difference,
        loss_tolerance=line.loss_tolerance,
        weight_tolerance=line.weight_tolerance,
    )
