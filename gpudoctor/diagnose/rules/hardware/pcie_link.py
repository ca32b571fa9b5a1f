"""Everything that can be wrong with a GPU's PCIe link."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.derive import GpuView
from gpudoctor.findings import Confidence, Evidence, Severity
from gpudoctor.snapshot import Missing, NvmlGpu, PciDevice, StageKind

BUSY = 10
"""Percent of utilisation above which a GPU is not idle, and its link runs at full speed."""
ENOUGH = 3
"""Samples of a stage that show how fast a link can be."""
HALF, QUARTER = 0.5, 0.25
"""Of the card's own bandwidth. Boards for two cards give each half of the lanes, and a generation is half of the next: common and a note; with
both together, or less, copies between CPU and GPU take four times as long."""
_UNDER_LOAD = "NVML, during the training run"


class LinkFault(NamedTuple):
    """A fault of a link: the end of a sentence about the link, its evidence, how certain and how severe it is."""

    text: str
    evidence: Evidence
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity = Severity.WARNING


def link_faults(gpu: GpuView) -> Iterator[LinkFault]:
    """The faults of the GPU's link; ends the rule where its width is not known."""
    yield from _narrow(gpu)
    yield from _limited_by_slot(gpu)
    yield from _slow(gpu)
    yield from _repeating(gpu)
    yield from _failing(gpu)


def _narrow(gpu: GpuView) -> Iterator[LinkFault]:
    """Fewer lanes than card and slot have in common, or than another GPU of this model has here.

    Lanes during training count as well: some links give lanes up while idle.
    """
    stages = gpu.stages_under_load
    most = gpu.link_width_max
    width = max((gpu.link_width, *(stage.link_width for stage in stages if isinstance(stage.link_width, int))))
    others = [other.observed.nvml.link_width for other in gpu.same_model if isinstance(other.observed.nvml, NvmlGpu)]
    best = max((lanes for lanes in others if isinstance(lanes, int)), default=0)
    if 0 < width < most:
        evidence = Evidence("link width now, at most", f"x{width}, x{most}", _UNDER_LOAD if stages else "NVML")
        yield LinkFault(f"has {width} of {most} lanes", evidence)
    elif 0 < width < best:
        evidence = Evidence("link width, of another GPU of this model", f"x{width}, x{best}", "NVML")
        yield LinkFault(f"has {width} {'lane' if width == 1 else 'lanes'} where another GPU of this model has {best}", evidence)


def _limited_by_slot(gpu: GpuView) -> Iterator[LinkFault]:
    """A slot that gives the card half of its own bandwidth or less; NVML's maximum is that of card and slot together."""
    lanes, generation = gpu.nvml.link_width_max, gpu.nvml.link_generation_max
    if not isinstance(lanes, int) or not isinstance(generation, int) or not lanes or not generation:
        return
    own_lanes = gpu.observed.pci.link_width_max if isinstance(gpu.observed.pci, PciDevice) else 0
    own_generation = gpu.nvml.link_generation_own
    card_lanes = max(lanes, own_lanes) if isinstance(own_lanes, int) else lanes
    card_generation = max(generation, own_generation) if isinstance(own_generation, int) else generation
    share = lanes * 2.0**generation / (card_lanes * 2.0**card_generation)
    if share > HALF:
        return
    slot, card = f"generation {generation} x{lanes}", f"generation {card_generation} x{card_lanes}"
    yield LinkFault(
        f"reaches {slot} in this slot, while the card supports {card}",
        Evidence("link at most in this slot, of the card", f"{slot}, {card}", "NVML, /sys/bus/pci/devices"),
        severity=Severity.NOTE if share > QUARTER else Severity.WARNING,
    )


def _slow(gpu: GpuView) -> Iterator[LinkFault]:
    """A lower generation than possible under load: certain during large copies, likely during other work."""
    seen = gpu.nvml
    fastest = seen.link_generation_max
    if not isinstance(fastest, int):
        return
    stages = [stage for stage in gpu.stages_under_load if stage.samples >= ENOUGH]
    copying = [stage for stage in stages if stage.stage is StageKind.COPIES]
    busy = [stage for stage in stages if isinstance(stage.utilization, int) and stage.utilization >= BUSY]
    speeds = [stage.link_generation for stage in copying or busy if isinstance(stage.link_generation, int)]
    if speeds:
        doing, confidence = ("copies", Confidence.CERTAIN) if copying else ("other work", Confidence.LIKELY)
        if max(speeds) < fastest:
            evidence = Evidence("generation at best, at most", f"{max(speeds)}, {fastest} during {doing}", _UNDER_LOAD)
            yield LinkFault(f"ran at generation {max(speeds)} of {fastest} during {doing}", evidence, confidence)
        return
    speed, load = seen.link_generation, seen.utilization
    if isinstance(speed, int) and isinstance(load, int) and speed < fastest and load >= BUSY:
        evidence = Evidence("generation under load, at most", f"{speed}, {fastest} at {load} % utilisation", "NVML")
        yield LinkFault(f"runs at generation {speed} of {fastest} under load", evidence, Confidence.LIKELY)


def _repeating(gpu: GpuView) -> Iterator[LinkFault]:
    first, later = gpu.nvml.pcie_replays, gpu.nvml.pcie_replays_later
    repeated = sum(stage.replays for stage in gpu.stages_under_load if isinstance(stage.replays, int))
    if repeated:
        evidence = Evidence("replays", str(repeated), _UNDER_LOAD)
        yield LinkFault(f"repeated {repeated:,} {'transfer' if repeated == 1 else 'transfers'} during the training run", evidence)
    elif isinstance(first, int) and isinstance(later, int) and later > first:
        yield LinkFault("is repeating transfers at this moment", Evidence("replay counter, and moments later", f"{first}, {later}", "NVML"))


def _failing(gpu: GpuView) -> Iterator[LinkFault]:
    """The errors that PCIe's advanced error reporting counted."""
    device = gpu.observed.pci
    if isinstance(device, Missing):
        return
    count = sum(errors for errors in (device.aer_fatal, device.aer_nonfatal) if isinstance(errors, int))
    if count:
        evidence = Evidence("uncorrected PCIe errors", str(count), f"/sys/bus/pci/devices/{device.address}/aer_dev_*")
        yield LinkFault(f"had {count} uncorrectable {'error' if count == 1 else 'errors'} since boot", evidence, Confidence.LIKELY)
