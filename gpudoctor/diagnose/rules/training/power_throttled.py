"""GD906: power-throttled."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu
from gpudoctor.derive.load import POWER_BRAKE, SW_POWER_CAP, holds
from gpudoctor.diagnose.advice.needs import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.diagnose.slowdown_facts import held_for, slowdown, stages_of
from gpudoctor.findings import Evidence, Fix, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, Snapshot

LOWERED = 0.95
"""A limit below this share of the default was lowered by somebody; what lies between is rounding."""


_POWER_SUPPLY = Fix("Give the machine more power: a stronger supply, its second feed, or a larger budget of the rack.")


_LAPTOP = ("laptop", "max-q", "mobile")


def _milliwatts(value: int) -> str:
    return f"{value / 1000:.0f} W"


@rule(
    "GD906",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    sees_more_at=Level.TRAIN,
    of_training=True,
    explains=(
        Explains(
            (
                "gpu-behind-its-siblings",
                "gpu-slower-than-expected",
                "gpu-not-faster-than-cpu",
            ),
            "",
            Join.GPU,
        ),
    ),
)
def power_throttled(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU is slowed down for lack of power, or its power limit was lowered.

    ## Why it matters
    Under full load every GPU is held at its power limit: that is normal and not reported. A limit below the card's default costs
    speed on purpose, and a power brake is the machine's power supply asking the card to draw less.

    ## What to do
    Set the limit back to its default unless it was lowered on purpose. For a power brake check the power supply, its cables and the
    rack's budget.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    yield from _braked_before(gpu, snapshot)
    braked = slowdown(gpu, snapshot, POWER_BRAKE)
    if braked:
        yield Problem(
            message=f"{gpu.label} {braked.was} slowed down by a power brake{braked.often}: the machine's power supply asks for it.",
            evidence=(braked.evidence("power brake"),),
            fixes=(_POWER_SUPPLY,),
        )
    limit, default = seen.power_limit, seen.power_limit_default
    if isinstance(limit, Missing) or isinstance(default, Missing):
        for value in (limit, default):
            offered(value)
        return
    if _for_laptops(gpu) or limit >= default * LOWERED:
        return
    held = slowdown(gpu, snapshot, SW_POWER_CAP)
    yield Problem(
        message=f"{gpu.label}: its power limit is {_milliwatts(limit)}, its default {_milliwatts(default)}"
        + (f", and it {held.was} held there{held.often or ' now'}." if held else "."),
        severity=None if held else Severity.NOTE,
        evidence=(
            Evidence("power limit enforced, default", f"{_milliwatts(limit)}, {_milliwatts(default)}", "NVML"),
            *((held.evidence("held at its power limit"),) if held else ()),
        ),
        fixes=(
            Fix(
                "Set the default again, unless the limit is meant to be lower",
                f"sudo nvidia-smi -i {gpu.key} -pl {default // 1000}",
                (ROOT,),
            ),
        ),
    )


def _braked_before(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The time that NVML counted under a power brake or at the board's limit: rising now, or long past. A brake that is seen anyway is left out."""
    first = known(gpu).clocks_event_reasons
    reasons = (*(one.reasons for one in holds(stages_of(gpu, snapshot))), *((first,) if isinstance(first, int) else ()))
    braked = any(one & POWER_BRAKE for one in reasons)
    for counter, what in (("power_brake", "a power brake"), ("board_limit", "its board's power limit")):
        held = held_for(gpu, counter)
        if held.matters and not (braked and counter == "power_brake"):
            when = "at this moment" if held.now else f"for {held.duration} since the driver was loaded"
            yield Problem(
                message=f"{gpu.label} {'is' if held.now else 'was'} held back by {what} {when}.",
                severity=None if held.now else Severity.NOTE,
                evidence=(held.evidence(what),),
                fixes=(_POWER_SUPPLY,),
            )


def _for_laptops(gpu: Gpu) -> bool:
    """A laptop's limit moves by itself, with heat and battery."""
    return isinstance(gpu.name, str) and any(word in gpu.name.lower() for word in _LAPTOP)
