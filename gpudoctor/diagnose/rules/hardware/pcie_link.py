"""Everything that can be wrong with a GPU's PCIe link."""

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import GpuView, require_known
from gpudoctor.findings import Confidence, Evidence, Impact, Rung, Severity
from gpudoctor.findings.wording import count_with_noun, singular_or_plural
from gpudoctor.snapshot import Missing, NvmlGpu, PciDevice, StageKind

BUSY_PERCENT = 10
"""Percent utilisation from which a GPU is not idle, so its link runs at full speed."""
ENOUGH_LINK_SAMPLES = 3
"""Samples of a stage that are enough to show the link's speed."""
HALF_BANDWIDTH, QUARTER_BANDWIDTH = 0.5, 0.25
"""Shares of the GPU's own bandwidth. Half is common (a board that splits its lanes, or a slot one generation older) and only a note."""
_UNDER_LOAD = "NVML, during the training run"


class PcieFault(msgspec.Struct, frozen=True):
    """A fault of a link; `text` completes "its PCIe link ..."."""

    text: str
    evidence: Evidence
    confidence: Confidence = Confidence.CERTAIN
    severity: Severity = Severity.WARNING
    impact: Impact = Impact.SLOWER


def link_faults(gpu: GpuView) -> Iterator[PcieFault]:
    """Return the faults of the GPU's link; ends the rule if its width is unknown."""
    yield from _width_faults(gpu)
    yield from _slot_faults(gpu)
    yield from _speed_faults(gpu)
    yield from _replay_faults(gpu)
    yield from _error_faults(gpu)


def _width_faults(gpu: GpuView) -> Iterator[PcieFault]:
    """Fewer lanes than card and slot support, or than another GPU of this model has.

    Lanes during training count too: some links drop lanes while idle.
    """
    stages = gpu.stages_under_load
    most = gpu.link_width_max
    width = max((gpu.link_width, *(stage.link_width for stage in stages if isinstance(stage.link_width, int))))
    others = (other.observed.nvml.link_width for other in gpu.same_model if isinstance(other.observed.nvml, NvmlGpu))
    best = max((width, *(lanes for lanes in others if isinstance(lanes, int))))
    if 0 < width < most:
        evidence = Evidence("link width, maximum", f"x{width}, x{most}", _UNDER_LOAD if stages else "NVML")
        yield PcieFault(f"runs with {width} of {most} lanes", evidence)
    elif 0 < width < best:
        evidence = Evidence("link width, same model elsewhere", f"x{width}, x{best}", "NVML")
        yield PcieFault(f"runs with {count_with_noun(width, 'lane')}; another GPU of the same model has {best}", evidence)


def bus_faults(device: PciDevice) -> Iterator[PcieFault]:
    """Return the fault of a link that only lspci shows: a quarter of the GPU's own lanes or fewer: slots commonly have half of them. Without NVML the slot's own number is unknown."""
    width, most = require_known(device.link_width, Rung.SLOT), require_known(device.link_width_max, Rung.SLOT)
    if 0 < width <= most * QUARTER_BANDWIDTH:
        evidence = Evidence("link width, of the GPU", f"x{width}, x{most}", "lspci")
        yield PcieFault(f"runs with {width} of the GPU's {most} lanes", evidence, Confidence.LIKELY)


def _slot_faults(gpu: GpuView) -> Iterator[PcieFault]:
    """A slot that gives the GPU half of its own bandwidth or less; NVML's maximum is that of GPU and slot together."""
    lanes, generation = gpu.nvml.link_width_max, gpu.nvml.link_generation_max
    if not isinstance(lanes, int) or not isinstance(generation, int) or not lanes or not generation:
        return
    own_lanes = gpu.observed.pci.link_width_max if isinstance(gpu.observed.pci, PciDevice) else 0
    own_generation = gpu.nvml.link_generation_own
    card_lanes = max(lanes, own_lanes) if isinstance(own_lanes, int) else lanes
    card_generation = max(generation, own_generation) if isinstance(own_generation, int) else generation
    share = lanes / card_lanes * 2.0 ** (generation - card_generation)
    if share > HALF_BANDWIDTH:
        return
    slot, card = f"Gen {generation} x{lanes}", f"Gen {card_generation} x{card_lanes}"
    yield PcieFault(
        f"is limited to {slot} by its slot (the GPU supports {card})",
        Evidence("maximum in this slot, of the GPU", f"{slot}, {card}", "NVML, /sys/bus/pci/devices"),
        severity=Severity.NOTE if share > QUARTER_BANDWIDTH else Severity.WARNING,
    )


def _speed_faults(gpu: GpuView) -> Iterator[PcieFault]:
    """A link below its maximum generation under load: certain during large copies, likely otherwise."""
    seen = gpu.nvml
    fastest = seen.link_generation_max
    if not isinstance(fastest, int):
        return
    stages = [stage for stage in gpu.stages_under_load if stage.samples >= ENOUGH_LINK_SAMPLES]
    copying = [stage for stage in stages if stage.stage is StageKind.COPIES]
    busy = [stage for stage in stages if isinstance(stage.utilization, int) and stage.utilization >= BUSY_PERCENT]
    speeds = [stage.link_generation for stage in copying or busy if isinstance(stage.link_generation, int)]
    if speeds:
        doing, confidence = ("copies", Confidence.CERTAIN) if copying else ("other work", Confidence.LIKELY)
        if max(speeds) < fastest:
            evidence = Evidence("highest generation seen, maximum", f"{max(speeds)}, {fastest} during {doing}", _UNDER_LOAD)
            yield PcieFault(f"ran at Gen {max(speeds)} instead of Gen {fastest} during {doing}", evidence, confidence)
        return
    speed, load = seen.link_generation, seen.utilization
    if isinstance(speed, int) and isinstance(load, int) and speed < fastest and load >= BUSY_PERCENT:
        evidence = Evidence("generation under load, maximum", f"{speed}, {fastest} at {load}% utilisation", "NVML")
        yield PcieFault(f"runs at Gen {speed} instead of Gen {fastest} under load", evidence, Confidence.LIKELY)


def _replay_faults(gpu: GpuView) -> Iterator[PcieFault]:
    first, later = gpu.nvml.pcie_replays, gpu.nvml.pcie_replays_later
    repeated = sum(stage.replays for stage in gpu.stages_under_load if isinstance(stage.replays, int))
    if repeated:
        evidence = Evidence("replays", str(repeated), _UNDER_LOAD)
        yield PcieFault(f"had {repeated:,} {singular_or_plural(repeated, 'replay', 'replays')} during the training run", evidence)
    elif isinstance(first, int) and isinstance(later, int) and later > first:
        yield PcieFault("is replaying packets right now", Evidence("replay counter, a moment later", f"{first}, {later}", "NVML"))


def _error_faults(gpu: GpuView) -> Iterator[PcieFault]:
    """The uncorrectable errors counted by PCIe Advanced Error Reporting (AER)."""
    device = gpu.observed.pci
    if isinstance(device, Missing):
        return
    count = sum(errors for errors in (device.aer_fatal, device.aer_nonfatal) if isinstance(errors, int))
    if count:
        evidence = Evidence("uncorrectable AER errors", str(count), f"/sys/bus/pci/devices/{device.address}/aer_dev_*")
        text = f"had {count_with_noun(count, 'uncorrectable error')} (AER) since boot"
        yield PcieFault(text, evidence, Confidence.LIKELY, impact=Impact.AT_RISK)
