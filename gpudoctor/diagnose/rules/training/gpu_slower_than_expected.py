from collections.abc import Iterator

import msgspec

from gpudoctor.derive import CouldNotTell, GpuView
from gpudoctor.diagnose.rule import Join, explains, rule
from gpudoctor.diagnose.rules.training.clocks import is_capped_by_design, lift_clock_limits, show_under_load
from gpudoctor.diagnose.rules.training.nvml_samples import MeasuredStage, rate_explanation
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Impact, Level, Problem, Problems, Rung, Severity
from gpudoctor.findings.wording import singular_or_plural
from gpudoctor.snapshot import NOT_ASKED, Missing, StageKind

MATMUL_SHARE, MEMORY_SHARE = 0.5, 0.6
"""Shares of the published peak below which something limits the GPU. PyTorch reaches 0.51 to 1.17 of the peaks of matmul:
https://github.com/zzc0721/torch-performance-test-data/blob/main/database.md"""
CAPPED_MATMUL_SHARE = 0.3
"""The same where the GPU's own power limit holds its clocks: a T4, limited to 70 W, reaches 24 of 65 TFLOPS.

https://forums.developer.nvidia.com/t/about-gpu-peak-performance/264462
"""
SIBLINGS_SHARE = 0.85
"""Share of the fastest GPU of the same model here; chips of one model differ by a few percent."""
LARGE_MATRIX, LARGE_ARRAY = 4096, 256 << 20
"""Rows, bytes: smaller sizes do not keep a large GPU busy."""


class _MeasuredRate(msgspec.Struct, frozen=True):
    """One measured rate, in the unit of its published peak."""

    measured: MeasuredStage
    what: str
    value: float
    unit: str
    peak: float | None
    least: float
    """The share of the peak that a healthy GPU exceeds."""

    @property
    def text(self) -> str:
        return f"{self.what} {self.value:,.1f} {self.unit}"


@rule("GD909", severity=Severity.WARNING, breaks=Rung.TRAINED, impact=Impact.SLOWER, predicts=False, seen_at=Level.FULL)
@explains(("gpu-not-faster-than-cpu",), "Slow matmul or memory makes training slow.", Join.GPU)
def gpu_slower_than_expected(gpu: GpuView) -> Problems:
    """GPU is far below its published matmul or memory speed."""
    figures = list(_measured_rates(gpu))
    others = [figure for other in gpu.same_model for figure in _measured_rates(other)]
    if not figures or not (others or any(figure.peak for figure in figures)):
        reason = "no published figure and no other GPU to compare its speed with"
        raise CouldNotTell(Missing(NOT_ASKED.cause, reason), Rung.TRAINED)
    slow = {figure: text for figure in figures if (text := _slow_reason(figure, others))}
    if slow:
        sampled = rate_explanation(gpu, dict.fromkeys(figure.measured for figure in slow), gpu.same_model)
        first, *further = slow.values()
        more = f"; {len(further)} more {singular_or_plural(len(further), 'rate is', 'rates are')} low" if further else ""
        yield Problem(
            message=f"{gpu.label} is slow: {first}{more}.{sampled.explanation}",
            confidence=Confidence.LIKELY,
            evidence=(*(Evidence(figure.what, text, figure.measured.framework) for figure, text in slow.items()), *sampled.evidence),
            fixes=(
                show_under_load(gpu, "UTILIZATION", "CLOCK", "PERFORMANCE", "POWER", "TEMPERATURE"),
                *lift_clock_limits(gpu, sampled.limited),
                Fix("If other GPUs of the same model are faster, have the vendor check this one.", kind=FixKind.ELSE),
            ),
        )


def _measured_rates(gpu: GpuView) -> Iterator[_MeasuredRate]:
    """Return the rates measured on this GPU with sizes that keep it busy."""
    for smoke in gpu.machine.smoke:
        published = gpu.machine.matrix.gpu(gpu.model)
        for matmul in smoke.products:
            if matmul.address == gpu.key and matmul.size >= LARGE_MATRIX and isinstance(matmul.flops, int | float):
                peak: float | None = getattr(published, f"{matmul.precision}_tflops", None)
                what = f"{matmul.precision.upper()} matmul"
                measured = MeasuredStage(smoke.framework, StageKind.PRODUCTS)
                sampled = gpu.stage_samples(measured.framework, measured.stage)
                least = CAPPED_MATMUL_SHARE if sampled and is_capped_by_design(gpu, sampled) else MATMUL_SHARE
                yield _MeasuredRate(measured, what, matmul.flops / 1e12, "TFLOPS", peak, least)
        for read in smoke.memory:
            if read.address == gpu.key and read.size >= LARGE_ARRAY and isinstance(read.bytes_per_second, int | float):
                bandwidth = published.bandwidth_gbs if published else None
                rate = read.bytes_per_second / 1e9
                yield _MeasuredRate(
                    MeasuredStage(smoke.framework, StageKind.MEMORY), "memory bandwidth", rate, "GB/s", bandwidth, MEMORY_SHARE
                )


def _slow_reason(figure: _MeasuredRate, others: list[_MeasuredRate]) -> str:
    """Return why a rate is too low; empty where it is not."""
    if figure.peak and figure.value < figure.least * figure.peak:
        return f"{figure.text}, {figure.value / figure.peak:.0%} of the published {figure.peak:,.1f}"
    alike = (other.value for other in others if (other.measured, other.what) == (figure.measured, figure.what))
    best = max(alike, default=0.0)
    if figure.value < SIBLINGS_SHARE * best:
        return f"{figure.text}, while another GPU of the same model reaches {best:,.1f}"
    return ""
