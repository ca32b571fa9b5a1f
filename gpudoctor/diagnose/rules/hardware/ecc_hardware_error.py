"""GD104: ecc-hardware-error."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import GpuView
from gpudoctor.derive.unknown import not_applicable
from gpudoctor.derive.xids import UNCORRECTABLE
from gpudoctor.diagnose.advice.hardware import last_xid, replace, reset
from gpudoctor.diagnose.rule import Explains, Join, rule
from gpudoctor.findings import Evidence, FixKind, Problem, Rung, Severity
from gpudoctor.snapshot import EccPlace, Sram

_PLACES = {
    "l1": "the L1 caches",
    "l2": "the L2 cache",
    "memory": "device memory",
    "registers": "registers",
    "texture": "texture memory",
    "cbu": "the convergence barrier unit",
    "sram": "on-chip memory",
}


@rule(
    "GD104",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    predicts=False,
    explains=(
        Explains(
            ("row-remap-pending", "pages-retirement-pending"),
            "The driver takes the memory with the error out of use at the next reset.",
            Join.GPU,
        ),
        Explains(
            ("gpu-missing-from-cuda", "gpu-requires-reset"),
            "After an uncorrectable error the GPU takes no work until it is reset.",
            Join.GPU,
        ),
        Explains(("gpu-computes-wrong",), "Damaged memory changes what a program computes.", Join.GPU),
        Explains(("cuda-init-fails", "all-reduce-failed"), "An uncorrectable error on one GPU ends programs that use several."),
    ),
)
def ecc_hardware_error(gpu: GpuView) -> Iterator[Problem]:
    """GPU memory had uncorrectable errors."""
    seen = gpu.nvml
    if seen.ecc_enabled is False:
        not_applicable("ECC is off, so errors are not counted")
    if isinstance(seen.sram, Sram) and seen.sram.threshold_exceeded:
        yield Problem(
            message=f"{gpu.label}: errors in on-chip memory (SRAM) exceed NVIDIA's threshold.",
            severity=gpu.warning_unless_failed,
            evidence=(Evidence("SRAM threshold exceeded", "yes", "nvmlDeviceGetSramEccErrorStatus"),),
            fixes=(replace("Have the card replaced"),),
        )
    logged = gpu.xids(*UNCORRECTABLE)
    count = seen.ecc_uncorrected if logged else gpu.ecc_uncorrected
    if not logged and not count:
        return
    cleared = count == 0
    counters = {"uncorrected ECC errors since the driver was loaded": count, "over the card's life": seen.ecc_uncorrected_total}
    yield Problem(
        message=f"{gpu.label} had {_errors(count)}.",
        severity=Severity.NOTE if cleared else gpu.warning_unless_failed,
        evidence=(
            *(Evidence(what, str(number), "NVML") for what, number in counters.items() if isinstance(number, int)),
            *_places(seen.ecc_places),
            *last_xid(gpu, *UNCORRECTABLE),
        ),
        fixes=(*(() if cleared else (reset(gpu),)), replace(kind=FixKind.ELSE)),
    )


def _errors(count: object) -> str:
    if not isinstance(count, int):
        return "uncorrectable memory errors since boot"
    if count == 0:
        return "an uncorrectable memory error since boot; its counter was cleared afterwards"
    return f"{count} uncorrectable memory error{'' if count == 1 else 's'} since the driver was loaded"


def _places(places: object) -> tuple[Evidence, ...]:
    """Where the uncorrected errors were, if NVML tells: device memory has spare rows, on-chip memory has none."""
    listed: tuple[EccPlace, ...] = places if isinstance(places, tuple) else ()
    found = [(place.place, place.uncorrected) for place in listed if isinstance(place.uncorrected, int) and place.uncorrected]
    where = ", ".join(f"{count} in {_PLACES.get(place, place)}" for place, count in found)
    return (Evidence("where", where, "NVML"),) if where else ()
