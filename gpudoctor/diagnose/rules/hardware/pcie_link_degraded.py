"""GD111: pcie-link-degraded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.derive import Gpu, Hardware, Site
from gpudoctor.diagnose.advice.needs import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.diagnose.slowdown_facts import WATCHED, stages_of
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import NOT_ASKED, Missing, NvmlGpu, PciDevice, Snapshot, StageKind, StageLoad

BUSY = 10
"""Percent of utilisation from which on a GPU does not idle, and its link runs at full speed."""


ENOUGH = 3
"""Samples of a stage that show how fast a link can be."""


HALF, QUARTER = 0.5, 0.25
"""Of the card's own bandwidth. Boards for two cards give each half of the lanes, and a generation is half of the next: common and a note; with
both together, or less, copies between CPU and GPU take four times as long."""


class _Fault(NamedTuple):
    """What is wrong with a link, in words, how it was seen, how sure and how grave that is."""

    text: str
    evidence: Evidence
    confidence: Confidence
    severity: Severity = Severity.WARNING


def _lanes(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> int:
    """The most lanes that were seen, also while it was trained on: some links give lanes up while they idle."""
    return max((offered(seen.link_width), *(stage.link_width for stage in stages if isinstance(stage.link_width, int))))


def _narrow(seen: NvmlGpu, stages: tuple[StageLoad, ...], siblings: tuple[NvmlGpu, ...]) -> Iterator[_Fault]:
    """Fewer lanes than card and slot could have together, or than another GPU of this model has here."""
    most, width = offered(seen.link_width_max), _lanes(seen, stages)
    others = max((one.link_width for one in siblings if isinstance(one.link_width, int)), default=0)
    if 0 < width < most:
        evidence = Evidence("link width now, at most", f"x{width}, x{most}", WATCHED if stages else "NVML")
        yield _Fault(f"has {width} of {most} lanes", evidence, Confidence.CERTAIN)
    elif 0 < width < others:
        evidence = Evidence("link width, of another GPU of this model", f"x{width}, x{others}", "NVML")
        yield _Fault(f"has {width} lanes where another GPU of this model has {others}", evidence, Confidence.CERTAIN)


def _confined(gpu: Gpu, seen: NvmlGpu) -> Iterator[_Fault]:
    """A slot that gives the card half of the bandwidth that it could use, or less. NVML's maximum is that of card and slot together."""
    lanes, generation = seen.link_width_max, seen.link_generation_max
    own_lanes = gpu.pci.link_width_max if isinstance(gpu.pci, PciDevice) else NOT_ASKED
    own_generation = seen.link_generation_own
    if not (isinstance(lanes, int) and isinstance(generation, int)) or not lanes or not generation:
        return
    most_lanes = max(lanes, own_lanes) if isinstance(own_lanes, int) else lanes
    most_generation = max(generation, own_generation) if isinstance(own_generation, int) else generation
    share = lanes * 2.0**generation / (most_lanes * 2.0**most_generation)
    if share > HALF:
        return
    slot, card = f"generation {generation} x{lanes}", f"generation {most_generation} x{most_lanes}"
    yield _Fault(
        f"can be {slot} in this slot, and the card could do {card}",
        Evidence("link at most of card and slot, of the card", f"{slot}, {card}", "NVML, /sys/bus/pci/devices"),
        Confidence.CERTAIN,
        Severity.NOTE if share > QUARTER else Severity.WARNING,
    )


def _slow(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    """A lower generation than could be while there was something to carry: surely during large copies, probably during other work."""
    copying = [stage for stage in stages if stage.stage == StageKind.COPIES and stage.samples >= ENOUGH]
    busy = [stage for stage in stages if isinstance(stage.utilization, int) and stage.utilization >= BUSY and stage.samples >= ENOUGH]
    speeds = [stage.link_generation for stage in copying or busy if isinstance(stage.link_generation, int)]
    speed, fastest, load = seen.link_generation, seen.link_generation_max, seen.utilization
    if speeds and isinstance(fastest, int):
        doing = "copies" if copying else "work"
        if max(speeds) < fastest:
            evidence = Evidence("generation at best, at most", f"{max(speeds)}, {fastest} during {doing}", WATCHED)
            text = f"ran at generation {max(speeds)} of {fastest} during {doing}"
            yield _Fault(text, evidence, Confidence.CERTAIN if copying else Confidence.LIKELY)
    elif isinstance(speed, int) and isinstance(fastest, int) and isinstance(load, int) and speed < fastest and load >= BUSY:
        evidence = Evidence("generation under load, at most", f"{speed}, {fastest} at {load} % utilisation", "NVML")
        yield _Fault(f"runs at generation {speed} of {fastest} under load", evidence, Confidence.LIKELY)


def _repeating(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    first, later = seen.pcie_replays, seen.pcie_replays_later
    more = sum(stage.replays for stage in stages if isinstance(stage.replays, int))
    if more:
        evidence = Evidence("replays", str(more), WATCHED)
        yield _Fault(f"repeated {more:,} transfers while it was trained on", evidence, Confidence.CERTAIN)
    elif isinstance(first, int) and isinstance(later, int) and later > first:
        evidence = Evidence("replay counter, and moments later", f"{first}, {later}", "NVML")
        yield _Fault("is repeating transfers at this moment", evidence, Confidence.CERTAIN)


def _erring(gpu: Gpu) -> Iterator[_Fault]:
    """What PCIe's advanced error reporting counted, where it is not nothing."""
    device = gpu.pci
    if isinstance(device, Missing):
        return
    count = sum(errors for errors in (device.aer_fatal, device.aer_nonfatal) if isinstance(errors, int))
    if count:
        evidence = Evidence("uncorrected PCIe errors", str(count), f"/sys/bus/pci/devices/{device.address}/aer_dev_*")
        yield _Fault(f"had {count} errors since the boot that it could not correct", evidence, Confidence.LIKELY)


@rule(
    "GD111",
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
def pcie_link_degraded(gpu: Gpu, site: Site, snapshot: Snapshot, hardware: Hardware) -> Iterator[Problem]:
    """The GPU's PCIe link is narrower or slower than card, slot or siblings allow.

    ## Why it matters
    Every batch of data crosses this link. Half the lanes are half the bandwidth, and errors that the link repairs by repeating
    transfers cost time and are a sign of a bad contact. An idle link at generation 1 is normal and is not reported: speed is judged only
    under load. A slot that gives the card half of what it could use is a note, as many boards are built so; a quarter or less is a warning.

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
    if gpu.integrated:
        not_applicable("an integrated GPU has no PCIe link of its own")
    stages = stages_of(gpu, snapshot)
    siblings = tuple(
        one.nvml
        for one in hardware
        if one.key != gpu.key and isinstance(one.nvml, NvmlGpu) and isinstance(one.name, str) and one.name == gpu.name
    )
    found = [*_narrow(seen, stages, siblings), *_confined(gpu, seen), *_slow(seen, stages), *_repeating(seen, stages), *_erring(gpu)]
    if found:
        yield Problem(
            message=f"{gpu.label}: its PCIe link {', '.join(fault.text for fault in found)}.",
            severity=max(fault.severity for fault in found),
            confidence=max(fault.confidence for fault in found),
            evidence=tuple(fault.evidence for fault in found),
            fixes=(
                Fix("Look again while the GPU works", f"nvidia-smi -q -i {gpu.key} | grep -A12 'GPU Link Info'", kind=FixKind.CHECK),
                Fix(
                    "Reseat the card and its riser or cable, and set the slot to its full width and speed in the firmware setup.",
                    needs=(ROOT, REBOOT),
                ),
            ),
        )
