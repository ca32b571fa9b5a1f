"""GD104: ecc-hardware-error."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, offered, replace, reset, unless_it_failed
from gpudoctor.diagnose.rule import Explains, Join, not_applicable, rule
from gpudoctor.findings import Evidence, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, KernelLog, Missing, NvmlGpu, Sram

_UNCORRECTABLE = (48, 94, 95)
"""Xids: a double-bit error, an uncorrectable error contained to one program, and one that was not."""


@rule(
    "GD104",
    severity=Severity.ERROR,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(
            (
                "gpu-missing-from-cuda",
                "row-remap-pending",
                "pages-retirement-pending",
                "gpu-requires-reset",
                "gpu-computes-wrong",
            ),
            "",
            Join.GPU,
        ),
        Explains(
            (
                "cuda-init-fails",
                "all-reduce-failed",
            ),
            "",
        ),
    ),
)
def ecc_hardware_error(gpu: Gpu, log: KernelLog | Missing, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """The GPU's memory had errors that could not be corrected.

    ## Why it matters
    An uncorrectable error ends the program that read the memory, and on older GPUs every program on that GPU. One such error can be a
    cosmic ray; several are a failing card. Corrected errors are normal and are not reported.

    ## What to do
    Reset the GPU, so that the bad row or page is taken out of use, and watch whether the counter rises again. Where NVIDIA's own
    threshold for on-chip memory is passed, or errors come back, the card needs replacing.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    seen = known(gpu)
    if seen.ecc_enabled is False:
        not_applicable("ECC is off, so nothing counts errors")
    worn = isinstance(seen.sram, Sram) and seen.sram.threshold_exceeded
    if worn:
        yield Problem(
            message=f"{gpu.label}: errors of its on-chip memory have passed NVIDIA's threshold.",
            severity=unless_it_failed(ladder, gpu),
            evidence=(Evidence("SRAM threshold exceeded", "yes", "nvmlDeviceGetSramEccErrorStatus"),),
            fixes=(replace("Have the card replaced"),),
        )
    told = logged(gpu, log, *_UNCORRECTABLE)
    since = seen.ecc_uncorrected
    if not (told and isinstance(since, Missing) and since.cause is Cause.UNSUPPORTED) and not offered(since) and not told:
        return
    total = seen.ecc_uncorrected_total
    cleared = since == 0
    yield Problem(
        message=f"{gpu.label} had an uncorrectable memory error since the boot; its counter was cleared after it."
        if cleared
        else f"{gpu.label} had uncorrectable memory errors"
        + (f": {since} since the driver was loaded." if isinstance(since, int) else "."),
        severity=Severity.NOTE if cleared else unless_it_failed(ladder, gpu),
        evidence=(
            *((Evidence("uncorrected ECC errors since the driver was loaded", str(since), "NVML"),) if isinstance(since, int) else ()),
            *((Evidence("over the card's life", str(total), "NVML"),) if isinstance(total, int) else ()),
            *_places(seen),
            *as_evidence(told, log),
        ),
        fixes=(replace(),) if cleared else (reset(gpu, site), replace()),
    )


_PLACES = {
    "l1": "the L1 caches",
    "l2": "the L2 cache",
    "memory": "device memory",
    "registers": "registers",
    "texture": "texture memory",
    "cbu": "the convergence barrier unit",
    "sram": "on-chip memory",
}


def _places(seen: NvmlGpu) -> tuple[Evidence, ...]:
    """Where the uncorrected errors were, where NVML tells: device memory has spare rows, on-chip memory has none."""
    places = seen.ecc_places if isinstance(seen.ecc_places, tuple) else ()
    found = [(place.place, place.uncorrected) for place in places if isinstance(place.uncorrected, int) and place.uncorrected]
    where = ", ".join(f"{count} in {_PLACES.get(place, place)}" for place, count in found)
    return (Evidence("where", where, "NVML"),) if where else ()
