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

_ODD = ("nan", "inf", "-inf")
"""How the child writes what is no finite number."""
_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child", "smoke.py")


def train(
    plans: tuple[Plan, ...],
    supervisor: Supervisor,
    environment: Mapping[str, str],
    progress: Progress,
    *,
    clean: Callable[[str], str],
    done: Callable[[Smoke], None],
) -> None:
    """Give `done` the outcome of each plan, in order. `clean` removes what must not be kept from text that a framework wrote.

    Where an interrupt ends it, `done` is given what the training under way showed until then.
    """
    for plan in plans:
        if not plan.devices and not plan.on_cpu:
            done(Smoke(framework=plan.framework, skipped=plan.skipped))
            continue
        spec = _spec(plan, environment)
        supervisor.start(spec, lambda line, plan=plan: _tell(plan.framework, line, progress))  # type: ignore[misc]
        try:
            supervisor.wait([spec.name])
        finally:
            supervisor.stop()
            for outcome in supervisor.wait([spec.name]).values():
                done(read(plan, outcome, clean))


def _spec(plan: Plan, environment: Mapping[str, str]) -> Spec:
    devices = "cpu" if plan.on_cpu else ",".join(str(ordinal) for ordinal in plan.devices)
    memory = ",".join(f"{ordinal}={one.limit}/{one.total}" for ordinal, one in sorted(plan.memory.items()))
    arguments = (
        "--framework",
        plan.framework,
        "--answer-fd",
        ANSWER,
        "--devices",
        devices,
        *(("--memory", memory) if memory else ()),
        *(("--measure",) if plan.measure else ()),
    )
    return Spec(
        name=f"smoke {plan.framework}",
        argv=(plan.executable, _SCRIPT, *arguments),
        environment={**environment, "PYTHONDONTWRITEBYTECODE": "1"},  # what is examined is not written to
        stall=STALL,
        deadline=DEADLINE,
    )


class _Heard(msgspec.Struct):
    event: str = ""
    stage: str = ""
    name: str = ""
    device: str = ""
    value: float | str = 0.0
    step: int = 0
    steps: int = 0


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
    elif heard.event == "number" and (heard.value in _ODD or isinstance(heard.value, float)):
        progress(Event("number", heard.name, who, float(heard.value), heard.step, heard.steps))
