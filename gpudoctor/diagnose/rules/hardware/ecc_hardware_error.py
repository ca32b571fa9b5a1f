from gpudoctor.derive import GpuView, not_applicable
from gpudoctor.derive.xids import UNCORRECTABLE_ERRORS
from gpudoctor.diagnose.advice.hardware import last_xid, replace_hardware, reset_gpu
from gpudoctor.diagnose.advice.system import reboot
from gpudoctor.diagnose.rule import Join, advises, explains, rule
from gpudoctor.findings import Evidence, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import EccPlace, Sram

_LOCATION_NAMES = {
    "l1": "L1 cache",
    "l2": "L2 cache",
    "memory": "device memory",
    "registers": "registers",
    "texture": "texture memory",
    "cbu": "convergence barrier unit (CBU)",
    "sram": "SRAM",
}


@rule("GD104", severity=Severity.ERROR, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@advises(reboot(), replace_hardware(kind=FixKind.ELSE))
@explains(("row-remap-pending", "pages-retirement-pending"), "The driver retires the failed memory at the next reset.", Join.GPU)
@explains(
    ("gpu-missing-from-cuda", "gpu-requires-reset"), "After an uncorrectable error the GPU accepts no work until it is reset.", Join.GPU
)
@explains(("gpu-computes-wrong",), "Corrupted memory gives wrong results.", Join.GPU)
@explains(
    ("cuda-init-fails", "all-reduce-failed"), "An uncorrectable error on one GPU kills the programs that use it, multi-GPU jobs included."
)
def ecc_hardware_error(gpu: GpuView) -> Problems:
    """GPU had uncorrectable ECC errors."""
    seen = gpu.nvml
    if seen.ecc_enabled is False:
        not_applicable("ECC is off, so errors are not counted")
    if isinstance(seen.sram, Sram) and seen.sram.threshold_exceeded:
        yield Problem(
            message=f"{gpu.label}: uncorrectable SRAM errors exceed NVIDIA's threshold for replacement.",
            severity=gpu.warning_unless_failed,
            evidence=(Evidence("SRAM threshold exceeded", "yes", "nvmlDeviceGetSramEccErrorStatus"),),
            fixes=(replace_hardware(),),
        )
    logged = gpu.xids(*UNCORRECTABLE_ERRORS)
    count = seen.ecc_uncorrected if logged else gpu.ecc_uncorrected
    if not logged and not count:
        return
    cleared = count == 0
    counters = {"uncorrectable ECC errors since the driver was loaded": count, "lifetime": seen.ecc_uncorrected_total}
    yield Problem(
        message=f"{gpu.label} had {_error_count(count)}.",
        severity=Severity.NOTE if cleared else gpu.warning_unless_failed,
        evidence=(
            *(Evidence(what, str(number), "NVML") for what, number in counters.items() if isinstance(number, int)),
            *_error_locations(seen.ecc_places),
            *last_xid(gpu, *UNCORRECTABLE_ERRORS),
        ),
        fixes=(*(() if cleared else (reset_gpu(gpu),)), replace_hardware(kind=FixKind.ELSE)),
    )


def _error_count(count: object) -> str:
    if not isinstance(count, int):
        return "uncorrectable ECC errors since boot"
    if count == 0:
        return "an uncorrectable ECC error since boot; the counter was cleared afterwards"
    return f"{count_with_noun(count, 'uncorrectable ECC error')} since the driver was loaded"


def _error_locations(places: object) -> tuple[Evidence, ...]:
    """Return where the errors were, if NVML says: device memory has spare rows, on-chip memory has none."""
    listed: tuple[EccPlace, ...] = places if isinstance(places, tuple) else ()
    found = [(place.place, place.uncorrected) for place in listed if isinstance(place.uncorrected, int) and place.uncorrected]
    where = ", ".join(f"{count} in {_LOCATION_NAMES.get(place, place)}" for place, count in found)
    return (Evidence("location", where, "NVML"),) if where else ()
