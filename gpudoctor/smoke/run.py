"""Runs the planned trainings one after the other, each in a child of its own, and hears them while they run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec

from gpudoctor.process import ANSWER, Spec, Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.smoke.plan import Plan
from gpudoctor.smoke.read import read
from gpudoctor.snapshot import Smoke

STALL = 300.0
"""Seconds without a sign of life: a cold file system, or PTX compiled for a new GPU, keep a healthy framework busy for minutes."""
DEADLINE = 1800.0

_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child", "smoke.py")


def train(
    plans: tuple[Plan, ...],
    supervisor: Supervisor,
    environment: Mapping[str, str],
    progress: Progress,
    clean: Callable[[str], str],
) -> tuple[Smoke, ...]:
    """The outcome of each plan, in order. `clean` removes what must not be kept from text that a framework wrote."""
    return tuple(_train(plan, supervisor, environment, progress, clean) for plan in plans)


def _train(plan: Plan, supervisor: Supervisor, environment: Mapping[str, str], progress: Progress, clean: Callable[[str], str]) -> Smoke:
    if not plan.devices and not plan.on_cpu:
        return Smoke(framework=plan.framework, skipped=plan.skipped)
    devices = "cpu" if plan.on_cpu else ",".join(str(ordinal) for ordinal in plan.devices)
    spec = Spec(
        name=f"smoke {plan.framework}",
        argv=(plan.executable, _SCRIPT, "--framework", plan.framework, "--answer-fd", ANSWER, "--devices", devices),
        environment={**environment, "PYTHONDONTWRITEBYTECODE": "1"},  # what is examined is not written to
        stall=STALL,
        deadline=DEADLINE,
    )
    supervisor.start(spec, lambda line: _tell(plan.framework, line, progress))
    outcome = supervisor.wait([spec.name])[spec.name]
    return read(plan, outcome, clean)


class _Heard(msgspec.Struct):
    event: str = ""
    stage: str = ""
    name: str = ""
    device: str = ""
    value: float | str = 0.0


def _tell(framework: str, line: bytes, progress: Progress) -> None:
    """Pass on what a line of the child's answer means for somebody who watches."""
    try:
        heard = msgspec.json.decode(line, type=_Heard)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return
    who = f"{framework} {heard.device}".strip()
    if heard.event in {"begin", "end"}:
        progress(Event(heard.event, heard.stage, who))
    elif heard.event == "failed":
        progress(Event("end", heard.stage, who))
    elif heard.event == "number" and isinstance(heard.value, float):
        progress(Event("number", heard.name, who, heard.value))
