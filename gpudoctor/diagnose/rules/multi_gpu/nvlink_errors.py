"""GD810: nvlink-errors."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.derive import Gpu, Ladder, Site
from gpudoctor.diagnose.gpu_facts import as_evidence, known, logged, offered, reset
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import NVLINK_XIDS, _links
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Problem, Rung, Severity, SubjectKind
from gpudoctor.snapshot import KernelLog, LinkCount, Missing, NvLink, NvmlGpu

TELLING = {
    "replays", "recoveries", "crc_errors", "malformed_packet_errors", "buffer_overrun_errors", "rcv_errors", "rcv_remote_errors",
    "rcv_general_errors", "local_link_integrity_errors", "link_recovery_failed_events", "link_recovery_events", "effective_errors",
}  # fmt: skip
"""Counters that stand still on a good link. Symbol errors, which the link corrects, and discarded packets are not among them."""


_FAILED = "link_recovery_failed_events"


@rule(
    "GD810",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    explains=(
        Explains(("all-reduce-failed",), ""),
        Explains(("nvlink-inactive",), "", Join.GPU),
    ),
)
def nvlink_errors(gpu: Gpu, log: KernelLog | Missing, ladder: Ladder, site: Site) -> Iterator[Problem]:
    """NVLink error counters rise, or the driver logged NVLink errors.

    ## Why it matters
    A good link counts no errors. CRC errors and replays cost bandwidth, recoveries stop the link for a while, and a recovery that fails
    ends every program that uses it (Xid 74; 144 to 150 from NVLink 5 on). A training over several GPUs then slows down, hangs or ends.

    The counters are read twice while the machine is examined. Old counts that do not grow are not reported.

    ## What to do
    Reset the GPUs. If errors come back on the same link, reseat the module or bridge; then the card, the cable or the switch is at fault.

    ## References
    - https://docs.nvidia.com/deploy/gpu-debug-guidelines/
    - https://docs.nvidia.com/deploy/xid-errors/
    """
    told = logged(gpu, log, *NVLINK_XIDS)
    links = gpu.nvml.nvlinks if isinstance(gpu.nvml, NvmlGpu) else gpu.nvml
    if not told:
        offered(known(gpu).nvlinks)
    seen = links if isinstance(links, tuple) else ()
    rising = {f"link {link.link}: {one.name} +{one.count}": "while the machine was examined" for link in seen for one in _telling(link)}
    failed = {f"link {link.link}: {one.count} failed recoveries": "since the driver was loaded" for link in seen for one in _failures(link)}
    if rising or failed or told:
        counted = "; ".join([*rising, *failed])
        yield Problem(
            message=f"{gpu.label}: {counted or f'the driver logged NVLink errors (Xid {told[-1].code})'}.",
            severity=None if rising or failed or not ladder.proven(gpu.key, Rung.KERNEL_RAN) else Severity.NOTE,
            confidence=Confidence.CERTAIN if rising or failed else Confidence.LIKELY,
            evidence=(*(Evidence(what, when, "NVML") for what, when in {**rising, **failed}.items()), *as_evidence(told, log)),
            fixes=(_links(gpu), reset(gpu, site), _RESEAT),
        )
    for link in seen:
        if link.active is True:
            offered(link.grown)
        else:
            need(link.active, Rung.NVML)


_RESEAT = Fix("Reseat the module or NVLink bridge; then have card, cable or switch replaced.", kind=FixKind.ELSE)


def _telling(link: NvLink) -> list[LinkCount]:
    return [one for one in link.grown if one.name in TELLING] if isinstance(link.grown, tuple) else []


def _failures(link: NvLink) -> list[LinkCount]:
    return [one for one in link.errors if one.name == _FAILED] if isinstance(link.errors, tuple) else []
