"""GD9, and the slot's share of it: GPUs that work slower than they could, as their own sensors say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

import msgspec

from gpudoctor.derive import Gpu, Site
from gpudoctor.derive.load import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE, SW_POWER_CAP, SW_THERMAL, holds, loads_of
from gpudoctor.diagnose.fixes import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, NvmlGpu, Snapshot, StageLoad

LOWERED = 0.95
"""A limit below this share of the default was lowered by somebody; what lies between is rounding."""
BUSY = 10
"""Percent of utilisation from which on a GPU does not idle, and its link runs at full speed."""
ENOUGH = 3
"""Samples of a stage that show how fast a link can be."""
_REASONS, _WATCHED = "NVML, reasons for the present clocks", "NVML, while it was trained on"
_LAPTOP = ("laptop", "max-q", "mobile")


def _milliwatts(value: int) -> str:
    return f"{value / 1000:.0f} W"


_Fault = tuple[str, Evidence, Confidence]
"""What is wrong with a link, in words, how it was seen, and how sure that is."""


def _stages(gpu: Gpu, snapshot: Snapshot) -> tuple[StageLoad, ...]:
    return tuple(stage for load in loads_of(snapshot, gpu.key) for stage in load.stages)


def _narrow(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    """Fewer lanes than could be, also while it was trained on: some links give lanes up while they idle."""
    most = offered(seen.link_width_max)
    width = max((offered(seen.link_width), *(stage.link_width for stage in stages if isinstance(stage.link_width, int))))
    if 0 < width < most:
        evidence = Evidence("link width now, at most", f"x{width}, x{most}", _WATCHED if stages else "NVML")
        yield f"has {width} of {most} lanes", evidence, Confidence.CERTAIN


def _slow(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    """A lower generation than could be while there was something to carry: surely during large copies, probably during other work."""
    copying = [stage for stage in stages if stage.stage == "copies" and stage.samples >= ENOUGH]
    busy = [stage for stage in stages if isinstance(stage.utilization, int) and stage.utilization >= BUSY and stage.samples >= ENOUGH]
    speeds = [stage.link_generation for stage in copying or busy if isinstance(stage.link_generation, int)]
    speed, fastest, load = seen.link_generation, seen.link_generation_max, seen.utilization
    if speeds and isinstance(fastest, int):
        doing = "copies" if copying else "work"
        if max(speeds) < fastest:
            evidence = Evidence("generation at best, at most", f"{max(speeds)}, {fastest} during {doing}", _WATCHED)
            yield (
                f"ran at generation {max(speeds)} of {fastest} during {doing}",
                evidence,
                Confidence.CERTAIN if copying else Confidence.LIKELY,
            )
    elif isinstance(speed, int) and isinstance(fastest, int) and isinstance(load, int) and speed < fastest and load >= BUSY:
        evidence = Evidence("generation under load, at most", f"{speed}, {fastest} at {load} % utilisation", "NVML")
        yield f"runs at generation {speed} of {fastest} under load", evidence, Confidence.LIKELY


def _repeating(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    first, later = seen.pcie_replays, seen.pcie_replays_later
    more = sum(stage.replays for stage in stages if isinstance(stage.replays, int))
    if more:
        yield f"repeated {more:,} transfers while it was trained on", Evidence("replays", str(more), _WATCHED), Confidence.CERTAIN
    elif isinstance(first, int) and isinstance(later, int) and later > first:
        evidence = Evidence("replay counter, and moments later", f"{first}, {later}", "NVML")
        yield "is repeating transfers at this moment", evidence, Confidence.CERTAIN


def _erring(gpu: Gpu) -> Iterator[_Fault]:
    """What PCIe's advanced error reporting counted, where it is not nothing."""
    device = gpu.pci
    if isinstance(device, Missing):
        return
    count = sum(errors for errors in (device.aer_fatal, device.aer_nonfatal) if isinstance(errors, int))
    if count:
        evidence = Evidence("uncorrected PCIe errors", str(count), f"/sys/bus/pci/devices/{device.address}/aer_dev_*")
        yield f"had {count} errors since the boot that it could not correct", evidence, Confidence.LIKELY


@rule("GD111", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def pcie_link_degraded(gpu: Gpu, site: Site, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU's PCIe link has fewer lanes, or is slower, than card and slot allow.

    ## Why it matters
    Every batch of data crosses this link. Half the lanes are half the bandwidth, and errors that the link repairs by repeating
    transfers cost time and are a sign of a bad contact. An idle link at generation 1 is normal and is not reported: speed is judged only
    under load.

    ## What to do
    Reseat the card, and its riser or cable; look in the firmware's setup whether the slot is split (bifurcation) or held at a speed.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    if not site.has_pci:
        not_applicable("the link is not this system's")
    seen = known(gpu)
    if seen.virtualization == "vgpu":
        not_applicable("a virtual GPU's link is not a real one")
    stages = _stages(gpu, snapshot)
    found = [*_narrow(seen, stages), *_slow(seen, stages), *_repeating(seen, stages), *_erring(gpu)]
    if found:
        yield Problem(
            message=f"{gpu.label}: its PCIe link {', '.join(text for text, _, _ in found)}.",
            confidence=max(confidence for _, _, confidence in found),
            evidence=tuple(evidence for _, evidence, _ in found),
            fixes=(
                Fix("Look again while the GPU works", f"nvidia-smi -q -i {gpu.key} | grep -A12 'GPU Link Info'"),
                Fix("Reseat the card and its riser or cable; look at the slot's settings in the firmware.", needs=(ROOT, "reboot")),
            ),
        )


class _Slowdown(msgspec.Struct, frozen=True):
    """A slowdown that was seen: its reasons and, where it was seen during a training, how often."""

    reasons: int
    often: str = ""

    @property
    def was(self) -> str:
        return "was" if self.often else "is"

    def evidence(self, what: str) -> Evidence:
        return Evidence(what, f"{self.often.lstrip(', ') or 'yes'} ({self.reasons:#x})", _WATCHED if self.often else _REASONS)


def _slowdown(gpu: Gpu, snapshot: Snapshot, wanted: int, unless: int = 0) -> _Slowdown | None:
    """Whether one of the `wanted` reasons was given without `unless`: while it was trained on, else at the first look. Ends the rule where neither is known."""
    held = holds(_stages(gpu, snapshot))
    fitting = [one for one in held if one.reasons & wanted and not one.reasons & unless]
    if fitting:
        times, of = (sum(one.samples for one in several) for several in (fitting, held))
        return _Slowdown(reduce(or_, (one.reasons for one in fitting)), f", in {times} of {of} samples during its training")
    first = known(gpu).clocks_event_reasons
    reasons = 0 if held and isinstance(first, Missing) else offered(first)
    return _Slowdown(reasons) if reasons & wanted and not reasons & unless else None


@rule("GD906", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
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
    braked = _slowdown(gpu, snapshot, POWER_BRAKE)
    if braked:
        yield Problem(
            message=f"{gpu.label} {braked.was} slowed down by a power brake{braked.often}: the machine's power supply asks for it.",
            evidence=(braked.evidence("power brake"),),
            fixes=(
                Fix("Check the power supply, its cables and the rack's power budget.", verify=f"nvidia-smi -q -d PERFORMANCE -i {gpu.key}"),
            ),
        )
    limit, default = seen.power_limit, seen.power_limit_default
    if isinstance(limit, Missing) or isinstance(default, Missing):
        for value in (limit, default):
            offered(value)
        return
    if _for_laptops(gpu) or limit >= default * LOWERED:
        return
    held = _slowdown(gpu, snapshot, SW_POWER_CAP)
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
                f"nvidia-smi -q -d POWER -i {gpu.key}",
            ),
        ),
    )


def _for_laptops(gpu: Gpu) -> bool:
    """A laptop's limit moves by itself, with heat and battery."""
    return isinstance(gpu.name, str) and any(word in gpu.name.lower() for word in _LAPTOP)


@rule("GD907", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def thermal_throttled(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU is slowed down because it is too hot.

    ## Why it matters
    Driver or hardware lower the clocks until the temperature falls: trainings slow down, by half or more where the hardware does it.

    ## What to do
    Look at fans, dust, airflow and neighbouring cards; a passively cooled server card needs the server's airflow.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    slowed = _slowdown(gpu, snapshot, SW_THERMAL | HW_THERMAL)
    if not slowed:
        return
    by = "hardware" if slowed.reasons & HW_THERMAL else "driver"
    hottest = _hottest(gpu, snapshot) if slowed.often else seen.temperature
    degrees = f" at {'up to ' * bool(slowed.often)}{hottest} °C" if isinstance(hottest, int) else ""
    yield Problem(
        message=f"{gpu.label} {slowed.was} slowed down by the {by} because of heat{degrees}{slowed.often}.",
        evidence=(slowed.evidence(f"thermal slowdown by the {by}"), *_temperatures(gpu, snapshot, seen)),
        fixes=(Fix("Check fans, dust and airflow; then look again", f"nvidia-smi -q -d TEMPERATURE,PERFORMANCE -i {gpu.key}"),),
    )


def _hottest(gpu: Gpu, snapshot: Snapshot) -> int | None:
    """While it was trained on."""
    return max((stage.temperature for stage in _stages(gpu, snapshot) if isinstance(stage.temperature, int)), default=None)


def _temperatures(gpu: Gpu, snapshot: Snapshot, seen: NvmlGpu) -> tuple[Evidence, ...]:
    rows = (
        ("temperature during its training at most", _hottest(gpu, snapshot)),
        ("temperature at the first look", seen.temperature),
        ("temperature of the hardware's slowdown", seen.temperature_slowdown),
    )
    return tuple(Evidence(what, f"{value} °C", "NVML") for what, value in rows if isinstance(value, int))


@rule("GD908", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def hw_slowdown(gpu: Gpu, snapshot: Snapshot) -> Iterator[Problem]:
    """The GPU's hardware has slowed its clocks down and does not say why.

    ## Why it matters
    The hardware halves the clocks, or worse, when it is too hot, when the power supply asks for it, or when power is drawn too fast.
    Where the driver tells which, power-throttled or thermal-throttled says so; here it does not.

    ## What to do
    Check power cables and supply first, then cooling.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    slowed = _slowdown(gpu, snapshot, HW_SLOWDOWN, unless=HW_THERMAL | POWER_BRAKE)
    if slowed:
        yield Problem(
            message=f"{gpu.label} {slowed.was} slowed down by its hardware{slowed.often}; the driver does not say whether for heat or power.",
            evidence=(slowed.evidence("hardware slowdown"), *_temperatures(gpu, snapshot, known(gpu))),
            fixes=(
                Fix(
                    "Check the card's power cables, the power supply and the cooling; then look again",
                    f"nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                ),
            ),
        )


RULES = (pcie_link_degraded, power_throttled, thermal_throttled, hw_slowdown)
