"""GD1: the PCIe link of a GPU: fewer lanes than could be, slower than could be, repeating transfers, errors."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.fixes import REBOOT, ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.diagnose.slowdown_facts import WATCHED, stages_of
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, NvmlGpu, Snapshot, StageLoad

BUSY = 10
"""Percent of utilisation from which on a GPU does not idle, and its link runs at full speed."""
ENOUGH = 3
"""Samples of a stage that show how fast a link can be."""
_Fault = tuple[str, Evidence, Confidence]
"""What is wrong with a link, in words, how it was seen, and how sure that is."""


def _narrow(seen: NvmlGpu, stages: tuple[StageLoad, ...]) -> Iterator[_Fault]:
    """Fewer lanes than could be, also while it was trained on: some links give lanes up while they idle."""
    most = offered(seen.link_width_max)
    width = max((offered(seen.link_width), *(stage.link_width for stage in stages if isinstance(stage.link_width, int))))
    if 0 < width < most:
        evidence = Evidence("link width now, at most", f"x{width}, x{most}", WATCHED if stages else "NVML")
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
            evidence = Evidence("generation at best, at most", f"{max(speeds)}, {fastest} during {doing}", WATCHED)
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
        yield f"repeated {more:,} transfers while it was trained on", Evidence("replays", str(more), WATCHED), Confidence.CERTAIN
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
    stages = stages_of(gpu, snapshot)
    found = [*_narrow(seen, stages), *_slow(seen, stages), *_repeating(seen, stages), *_erring(gpu)]
    if found:
        yield Problem(
            message=f"{gpu.label}: its PCIe link {', '.join(text for text, _, _ in found)}.",
            confidence=max(confidence for _, _, confidence in found),
            evidence=tuple(evidence for _, evidence, _ in found),
            fixes=(
                Fix("Look again while the GPU works", f"nvidia-smi -q -i {gpu.key} | grep -A12 'GPU Link Info'", kind=FixKind.CHECK),
                Fix(
                    "Reseat the card and its riser or cable, and set the slot to its full width and speed in the firmware setup.",
                    needs=(ROOT, REBOOT),
                ),
            ),
        )


RULES = (pcie_link_degraded,)
