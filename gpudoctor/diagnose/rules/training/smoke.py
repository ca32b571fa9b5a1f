"""GD9: what the smoke training showed that nothing below it explains."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Flaw, MachineView, judge
from gpudoctor.derive.framework_log import telling_lines
from gpudoctor.derive.stages import stage_name
from gpudoctor.diagnose.advice.installing import another_release
from gpudoctor.diagnose.advice.system import read_page
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Severity
from gpudoctor.signatures import Recognised, recognise
from gpudoctor.snapshot import Missing, Real, Smoke, StageKind, StageState, Training

_READ_LOG = Fix(
    "Read the framework's own log: the report holds its end as snapshot.smoke[].output",
    "gpudoctor check --format json -o report.json",
    kind=FixKind.CHECK,
)


def _sign(smoke: Smoke, *words: str) -> Recognised | None:
    """The most telling known sign in what the framework wrote and raised."""
    output = smoke.output if isinstance(smoke.output, str) else ""
    return next(iter(recognise("\n".join((output, *words)))), None)


def _points_to(sign: Recognised | None) -> str:
    return f" Its words point to {' or '.join(sign.signature.causes)}: {sign.signature.meaning}." if sign else ""


def _signed(smoke: Smoke, sign: Recognised | None) -> tuple[Evidence, ...]:
    return (Evidence(f"a sign of {sign.signature.causes[0]}", sign.line, f"{smoke.framework}'s output"),) if sign else ()


def _explained(sign: Recognised | None) -> tuple[Fix, ...]:
    return tuple(read_page(cause) for cause in (sign.signature.causes if sign else ()))


def _without(device: str, smoke: Smoke, machine: MachineView) -> tuple[Fix, ...]:
    """What to do about a device that computes wrong: train on the others, where these were right; else take another release."""
    gpus = {one.device for one in smoke.trainings if one.device.startswith("GPU")}
    others = sorted(one.partition(":")[2] for one in gpus - {device})
    release = another_release(machine, smoke.framework, kind=FixKind.ELSE if others and device in gpus else FixKind.FIX)
    if not others or device not in gpus:
        return _READ_LOG, release
    return _READ_LOG, Fix(f"Train without {device}", f"export CUDA_VISIBLE_DEVICES={','.join(others)}"), release


def _log(smoke: Smoke) -> tuple[Evidence, ...]:
    if isinstance(smoke.output, Missing):
        return ()
    return tuple(Evidence("log", line, f"{smoke.framework}'s output") for line in telling_lines(smoke.output))


def _finite(number: Real) -> bool:
    return isinstance(number, int | float)


def _flawed(smoke: Smoke, flaws: set[Flaw], machine: MachineView) -> Iterator[Problem]:
    """One problem a device, with what is wrong of each of its networks."""
    wrong: dict[str, list[tuple[str, str]]] = {}
    for training in smoke.trainings:
        judgement = judge(training)
        if judgement is not None and judgement.flaw in flaws:
            wrong.setdefault(training.device, []).append((_training(training), judgement.detail))
    for device, details in wrong.items():
        yield Problem(
            message=f"{smoke.framework} on {device}: {'; '.join(dict.fromkeys(detail for _, detail in details))}.",
            evidence=tuple(Evidence(what, detail, device) for what, detail in details),
            fixes=_without(device, smoke, machine),
        )


def _training(training: Training) -> str:
    return "training" if training.network == "dense" else f"training of the {training.network} network"


_MEASURING = (StageKind.COPIES, StageKind.MEMORY, StageKind.PRODUCTS, StageKind.COMPILED_STEP, StageKind.SPEED)
"""Stages that measure: where one fails the trainings before it have passed."""


def _ended(smoke: Smoke, states: set[StageState], machine: MachineView) -> Iterator[Problem]:
    for stage in smoke.stages:
        if stage.state in states:
            why = stage.error if isinstance(stage.error, str) else "no reason given"
            sign = _sign(smoke, why)
            yield Problem(
                message=f"{smoke.framework}: the stage “{stage_name(stage)}” {stage.state}: {why}{_points_to(sign)}",
                severity=Severity.WARNING if stage.kind in _MEASURING else None,
                evidence=(Evidence("stage", stage_name(stage), smoke.framework), *_signed(smoke, sign), *_log(smoke)),
                fixes=(*_explained(sign), _READ_LOG, another_release(machine, smoke.framework)),
            )
