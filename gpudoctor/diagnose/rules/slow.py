"""GD9, and the slot's share of it: GPUs that work slower than they could, as their own sensors say."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Site
from gpudoctor.diagnose.fixes import ROOT
from gpudoctor.diagnose.gpu_facts import known, offered
from gpudoctor.diagnose.rule import need, not_applicable, rule
from gpudoctor.findings import Confidence, Evidence, Fix, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Missing, NvmlGpu

# nvml.h, nvmlClocksEventReason*
SW_POWER_CAP, HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x4, 0x8, 0x20, 0x40, 0x80
LOWERED = 0.95
"""A limit below this share of the default was lowered by somebody; what lies between is rounding."""
BUSY = 10
"""Percent of utilisation from which on a GPU does not idle, and its link runs at full speed."""
_REASONS = "NVML, reasons for the present clocks"
_LAPTOP = ("laptop", "max-q", "mobile")


def _milliwatts(value: int) -> str:
    return f"{value / 1000:.0f} W"


def _uncorrected(gpu: Gpu) -> Evidence | None:
    """What PCIe's advanced error reporting counted, where it is not nothing."""
    device = gpu.pci
    if isinstance(device, Missing):
        return None
    count = sum(errors for errors in (device.aer_fatal, device.aer_nonfatal) if isinstance(errors, int))
    return Evidence("uncorrected PCIe errors", str(count), f"/sys/bus/pci/devices/{device.address}/aer_dev_*") if count else None


@rule("GD111", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def pcie_link_degraded(gpu: Gpu, site: Site) -> Iterator[Problem]:
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
    width, most = offered(seen.link_width), offered(seen.link_width_max)
    found = []
    if 0 < width < most:
        found.append(
            (f"has {width} of {most} lanes", Evidence("link width now, at most", f"x{width}, x{most}", "NVML"), Confidence.CERTAIN)
        )
    speed, fastest, load = seen.link_generation, seen.link_generation_max, seen.utilization
    if isinstance(speed, int) and isinstance(fastest, int) and isinstance(load, int) and speed < fastest and load >= BUSY:
        evidence = Evidence("generation under load, at most", f"{speed}, {fastest} at {load} % utilisation", "NVML")
        found.append((f"runs at generation {speed} of {fastest} under load", evidence, Confidence.LIKELY))
    first, later = seen.pcie_replays, seen.pcie_replays_later
    if isinstance(first, int) and isinstance(later, int) and later > first:
        evidence = Evidence("replay counter, and moments later", f"{first}, {later}", "NVML")
        found.append(("is repeating transfers at this moment", evidence, Confidence.CERTAIN))
    errors = _uncorrected(gpu)
    if errors is not None:
        found.append((f"had {errors.value} errors since the boot that it could not correct", errors, Confidence.LIKELY))
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


@rule("GD906", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def power_throttled(gpu: Gpu) -> Iterator[Problem]:
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
    reasons = offered(seen.clocks_event_reasons)
    if reasons & POWER_BRAKE:
        yield Problem(
            message=f"{gpu.label} is slowed down by a power brake: the machine's power supply asks for it.",
            evidence=(Evidence("power brake", f"yes ({reasons:#x})", _REASONS),),
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
    held = bool(reasons & SW_POWER_CAP)
    yield Problem(
        message=f"{gpu.label}: its power limit is {_milliwatts(limit)}, its default {_milliwatts(default)}"
        + (", and it is held there now." if held else "."),
        severity=None if held else Severity.NOTE,
        evidence=(Evidence("power limit enforced, default", f"{_milliwatts(limit)}, {_milliwatts(default)}", "NVML"),),
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
def thermal_throttled(gpu: Gpu) -> Iterator[Problem]:
    """The GPU is slowed down because it is too hot.

    ## Why it matters
    Driver or hardware lower the clocks until the temperature falls: trainings slow down, by half or more where the hardware does it.

    ## What to do
    Look at fans, dust, airflow and neighbouring cards; a passively cooled server card needs the server's airflow.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    seen = known(gpu)
    reasons = offered(seen.clocks_event_reasons)
    if not reasons & (SW_THERMAL | HW_THERMAL):
        return
    by = "hardware" if reasons & HW_THERMAL else "driver"
    degrees = f" at {seen.temperature} °C" if isinstance(seen.temperature, int) else ""
    yield Problem(
        message=f"{gpu.label} is slowed down by the {by} because of heat{degrees}.",
        evidence=(Evidence(f"thermal slowdown by the {by}", f"yes ({reasons:#x})", _REASONS), *_temperatures(seen)),
        fixes=(Fix("Check fans, dust and airflow; then look again", f"nvidia-smi -q -d TEMPERATURE,PERFORMANCE -i {gpu.key}"),),
    )


def _temperatures(seen: NvmlGpu) -> tuple[Evidence, ...]:
    rows = (("temperature", seen.temperature), ("temperature of the hardware's slowdown", seen.temperature_slowdown))
    return tuple(Evidence(what, f"{value} °C", "NVML") for what, value in rows if isinstance(value, int))


@rule("GD908", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def hw_slowdown(gpu: Gpu) -> Iterator[Problem]:
    """The GPU's hardware has slowed its clocks down and does not say why.

    ## Why it matters
    The hardware halves the clocks, or worse, when it is too hot, when the power supply asks for it, or when power is drawn too fast.
    Where the driver tells which, power-throttled or thermal-throttled says so; here it does not.

    ## What to do
    Check power cables and supply first, then cooling.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    reasons = need(known(gpu).clocks_event_reasons, Rung.NVML)
    if reasons & HW_SLOWDOWN and not reasons & (HW_THERMAL | POWER_BRAKE):
        yield Problem(
            message=f"{gpu.label} is slowed down by its hardware; the driver does not say whether for heat or power.",
            evidence=(Evidence("hardware slowdown", f"yes ({reasons:#x})", _REASONS), *_temperatures(known(gpu))),
            fixes=(
                Fix(
                    "Check the card's power cables, the power supply and the cooling; then look again",
                    f"nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                ),
            ),
        )


RULES = (pcie_link_degraded, power_throttled, thermal_throttled, hw_slowdown)
