"""GD1: what the GPU says of its own health: memory errors, spare rows, firmware store, power, reset."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Hardware, Ladder, Site
from gpudoctor.diagnose.fixes import REBOOT, ROOT, power_cycle, reboot
from gpudoctor.diagnose.gpu_facts import alarm, as_evidence, known, logged, milder, offered, replace, reset, sure, unless_it_failed
from gpudoctor.diagnose.rule import not_applicable, rule
from gpudoctor.findings import Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import Cause, KernelLog, Missing, Nvml, NvmlGpu, Sram

_UNCORRECTABLE = (48, 94, 95)
"""Xids: a double-bit error, an uncorrectable error contained to one program, and one that was not."""
_INSUFFICIENT_POWER, _CORRUPT_INFOROM, _RESET_REQUIRED = 8, 14, 16
_NO_POWER = 54
"""Xid: auxiliary power is not connected."""
MOST_RETIRED = 60
"""NVIDIA's page on retirement: from here on a card is to be replaced; 64 pages can be retired in all."""
_ACTIONS = {
    "reset": ("a reset", Severity.ERROR),
    "reboot": ("a reboot of the machine", Severity.ERROR),
    "bus-reset": ("a reset of its PCIe bus", Severity.ERROR),
    "system-reboot": ("a reboot of the machine", Severity.ERROR),
    "drain-p2p": ("the end of all programs that use peer access", Severity.WARNING),
    "drain-and-reset": ("no new work and, when the present work has ended, a reset", Severity.WARNING),
    "recover-imex-domain": ("a recovery of its IMEX domain", Severity.WARNING),
}
"""What each recovery action asks for, and whether the GPU is of no use until then."""


@rule("GD104", severity=Severity.ERROR, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
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


@rule("GD105", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def row_remap_pending(gpu: Gpu, log: KernelLog | Missing, site: Site) -> Iterator[Problem]:
    """A bad row of the GPU's memory waits for a reset to be replaced by a spare one.

    ## Why it matters
    The GPU met an error in a row of its memory and has a spare row for it, which is put in its place at the next reset. Until then the
    bad row stays in use or its page is fenced off, and a program that meets it ends.

    ## What to do
    Reset the GPU, or reboot, when nothing runs on it.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """
    rows = offered(known(gpu).remapped_rows)
    if rows.pending:
        yield Problem(
            message=f"{gpu.label}: a row of its memory is to be replaced at the next reset.",
            evidence=(Evidence("row remapping pending", "yes", "nvmlDeviceGetRemappedRows"), *as_evidence(logged(gpu, log, 63), log)),
            fixes=(reset(gpu, site),),
        )


@rule("GD106", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def row_remap_failed(gpu: Gpu, log: KernelLog | Missing) -> Iterator[Problem]:
    """A bad row of the GPU's memory could not be replaced by a spare one.

    ## Why it matters
    The spare rows of that part of the memory are used up, or the replacement itself failed (Xid 64). The bad row stays in use: programs
    end sooner or later with an uncorrectable error, and a reset does not help.

    ## What to do
    Take the card out of service and have it replaced: this is NVIDIA's own criterion for it.

    ## References
    - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """
    rows = offered(known(gpu).remapped_rows)
    if rows.failed:
        yield Problem(
            message=f"{gpu.label}: replacing a bad row of its memory failed ({rows.correctable + rows.uncorrectable} were replaced before).",
            evidence=(Evidence("row remapping failed", "yes", "nvmlDeviceGetRemappedRows"), *as_evidence(logged(gpu, log, 64), log)),
            fixes=(replace("Have the card replaced"),),
        )


@rule("GD107", severity=Severity.WARNING, breaks=Rung.TRAINED, since="0.1", about=SubjectKind.GPU, predicts=False)
def pages_retirement_pending(gpu: Gpu, site: Site) -> Iterator[Problem]:
    """Bad pages of the GPU's memory wait to be retired, or too many are.

    ## Why it matters
    GPUs before Ampere take a page that had a double-bit error, or two single-bit ones, out of use, but only when the driver is loaded
    next: until then programs can meet it. At most 64 pages can be retired.

    ## What to do
    Reset the GPU, or reboot, when nothing runs on it. From 60 retired pages on have the card replaced.

    ## References
    - https://docs.nvidia.com/deploy/dynamic-page-retirement/
    """
    pages = offered(known(gpu).retired_pages)
    count = pages.single_bit + pages.double_bit
    evidence = (Evidence("retired pages (single-bit, double-bit)", f"{pages.single_bit}, {pages.double_bit}", "NVML"),)
    if pages.pending:
        yield Problem(
            message=f"{gpu.label}: pages of its memory are to be retired when the driver is loaded next.",
            evidence=(Evidence("page retirement pending", "yes", "NVML"), *evidence),
            fixes=(reset(gpu, site),),
        )
    if count >= MOST_RETIRED:
        yield Problem(
            message=f"{gpu.label}: {count} pages of its memory are retired, of 64 that can be.",
            evidence=evidence,
            fixes=(replace("Have the card replaced"),),
        )


@rule("GD108", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def inforom_corrupt(gpu: Gpu, nvml: Nvml, hardware: Hardware) -> Iterator[Problem]:
    """The GPU's infoROM is corrupt.

    ## Why it matters
    The infoROM keeps the card's configuration and its counts of memory errors. A corrupt one mostly leaves the GPU usable, with
    settings and error records that cannot be trusted; in a bad case the driver does not open the card.

    ## What to do
    Power the machine off and on once. If it stays, NVIDIA or the vendor can write it anew or replace the card.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    said = alarm(gpu, nvml, _CORRUPT_INFOROM)
    if said is None:
        return
    opened = isinstance(gpu.nvml, NvmlGpu) and isinstance(gpu.nvml.address, str)
    yield Problem(
        message=f"{gpu.label}: NVML says that its infoROM is corrupt.",
        severity=Severity.WARNING if opened else None,
        confidence=sure(gpu, len(hardware) - 1),
        evidence=(Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),),
        fixes=(
            power_cycle(),
            replace("Have the card repaired", FixKind.ELSE),
        ),
    )


@rule("GD109", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def gpu_requires_reset(gpu: Gpu, nvml: Nvml, ladder: Ladder, hardware: Hardware, site: Site) -> Iterator[Problem]:
    """The GPU needs a reset or a reboot before it can be used.

    ## Why it matters
    After some errors the driver takes no more work for a GPU, or none that can be trusted, until it is reset. NVML says so by the answer
    "GPU requires reset", and newer drivers by a recovery action that names what it takes.

    ## What to do
    Do what the recovery action says, when nothing runs on the GPU. If it comes back, read the kernel's log for the Xid before it.

    ## References
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    """
    said = alarm(gpu, nvml, _RESET_REQUIRED)
    wanted = gpu.nvml.recovery_action if isinstance(gpu.nvml, NvmlGpu) else "none"
    action, severity = _ACTIONS.get(str(wanted), ("", Severity.ERROR))
    if said is None and (isinstance(wanted, Missing) or not action):
        offered(wanted)
        return
    reboots = "reboot" in str(wanted)
    yield Problem(
        message=f"{gpu.label}: the driver asks for {action or 'a reset'} before the GPU can be trusted.",
        severity=Severity.WARNING if said is None and severity is Severity.WARNING else milder(ladder, gpu),
        confidence=sure(gpu, len(hardware) - 1),
        evidence=(
            *((Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),) if said else ()),
            *((Evidence("recovery action", str(wanted), "NVML"),) if action else ()),
        ),
        fixes=(reboot() if reboots and not site.container else reset(gpu, site),),
    )


@rule("GD112", severity=Severity.ERROR, breaks=Rung.NVML, since="0.1", about=SubjectKind.GPU, predicts=False)
def power_cable_missing(gpu: Gpu, nvml: Nvml, log: KernelLog | Missing, hardware: Hardware, ladder: Ladder) -> Iterator[Problem]:
    """The GPU's auxiliary power cables are not connected, or give no power.

    ## Why it matters
    A card that draws more than its slot gives has power connectors of its own. Without them the driver refuses to start it.

    ## What to do
    Power off, connect every power connector of the card with cables of their own, and check that the power supply is strong enough.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    told = logged(gpu, log, _NO_POWER)
    said = None if told and not isinstance(gpu.nvml, NvmlGpu) else alarm(gpu, nvml, _INSUFFICIENT_POWER)
    if said is not None or told:
        who = (
            "NVML says that its external power is insufficient" if said else "the kernel logged that its power connectors are not connected"
        )
        yield Problem(
            message=f"{gpu.label}: {who}.",
            severity=milder(ladder, gpu),
            confidence=sure(gpu, 0 if told else len(hardware) - 1),
            evidence=(
                *((Evidence("NVML", f"{said.code} {said.text}", "libnvidia-ml.so.1"),) if said else ()),
                *as_evidence(told, log),
            ),
            fixes=(Fix("Power off and connect all power connectors of the card.", needs=(ROOT, REBOOT)),),
        )


RULES = (
    ecc_hardware_error,
    row_remap_pending,
    row_remap_failed,
    pages_retirement_pending,
    inforom_corrupt,
    gpu_requires_reset,
    power_cable_missing,
)
