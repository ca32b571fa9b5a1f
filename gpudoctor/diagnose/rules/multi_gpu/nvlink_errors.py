from collections.abc import Iterator

from gpudoctor.derive import GpuView, require_known, require_offered
from gpudoctor.derive.xids import NVLINK_ERRORS
from gpudoctor.diagnose.advice.hardware import last_xid, reset_gpu
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.multi_gpu.nvlinks import show_links
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.snapshot import LinkCount, NvLink

ERROR_COUNTERS = {
    "replays", "recoveries", "crc_errors", "malformed_packet_errors", "buffer_overrun_errors", "rcv_errors", "rcv_remote_errors",
    "rcv_general_errors", "local_link_integrity_errors", "link_recovery_failed_events", "link_recovery_events", "effective_errors",
}  # fmt: skip
"""Counters that stay the same on a good link. Symbol errors, which the link corrects, and discarded packets are not included."""
_FAILED_RECOVERIES = "link_recovery_failed_events"
_RESEAT_MODULE = Fix("Reseat the module or NVLink bridge; then have the GPU, cable or switch replaced.", kind=FixKind.ELSE)


@rule("GD810", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.AT_RISK, predicts=False)
@explains(("all-reduce-failed",), "All-reduce runs over the NVLinks.")
@explains(("nvlink-inactive",), "A link that cannot recover goes down.", Join.GPU)
def nvlink_errors(gpu: GpuView) -> Problems:
    """NVLink errors: counters are rising, or the driver logged errors."""
    logged = gpu.xids(*NVLINK_ERRORS)
    links = gpu.listed_nvlinks if logged else gpu.nvlinks
    counts = dict(entry for link in links for entry in (*_rising_counters(link), *_failed_recoveries(link)))
    if counts or logged:
        yield Problem(
            message=f"{gpu.label} has NVLink errors: {', '.join(counts) or f'the driver logged Xid {logged[-1].code}'}.",
            severity=Severity.NOTE if gpu.has_run_kernel and not counts else None,
            confidence=Confidence.CERTAIN if counts else Confidence.LIKELY,
            evidence=(
                *(Evidence(what, when, "NVML") for what, when in counts.items()),
                *last_xid(gpu, *NVLINK_ERRORS),
            ),
            fixes=(show_links(gpu), reset_gpu(gpu), _RESEAT_MODULE),
        )
    for link in links:
        if require_known(link.active, Rung.NVML):
            require_offered(link.grown)


def _rising_counters(link: NvLink) -> Iterator[tuple[str, str]]:
    for counter in _listed_counters(link.grown):
        if counter.name in ERROR_COUNTERS:
            yield f"{counter.name} +{counter.count} on link {link.link}", "during the check"


def _failed_recoveries(link: NvLink) -> Iterator[tuple[str, str]]:
    for counter in _listed_counters(link.errors):
        if counter.name == _FAILED_RECOVERIES:
            yield (
                f"{count_with_noun(counter.count, 'failed recovery', 'failed recoveries')} on link {link.link}",
                "since the driver was loaded",
            )


def _listed_counters(counts: object) -> tuple[LinkCount, ...]:
    return counts if isinstance(counts, tuple) else ()
