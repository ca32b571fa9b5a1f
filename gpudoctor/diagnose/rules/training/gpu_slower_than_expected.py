"""GD909: gpu-slower-than-expected."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gpudoctor.derive import Gpu, Hardware
from gpudoctor.diagnose.rule import Explains, Join, need, rule
from gpudoctor.diagnose.rules.training.speed import _smokes, _unlock, _watched
from gpudoctor.findings import Confidence, Evidence, Fix, FixKind, Level, Problem, Rung, Severity, SubjectKind
from gpudoctor.matrix import GpuProduct, Matrix
from gpudoctor.snapshot import NOT_ASKED, Missing, Smoke, Snapshot

PRODUCTS_SHARE, MEMORY_SHARE = 0.5, 0.6
"""Shares of a product's published peak below which something holds it back: frameworks reach 0.6 to 0.95 of both with large enough sizes."""


SIBLINGS_SHARE = 0.85
"""Of the fastest GPU of the same product in this machine; chips of one product differ by a few percent."""


LARGE_PRODUCT, LARGE_ARRAY = 4096, 256 << 20
"""Rows, bytes: what is smaller does not keep a large GPU busy."""


class _Figure(msgspec.Struct, frozen=True):
    """One measured rate, in the unit of its published peak."""

    framework: str
    what: str
    value: float
    unit: str
    peak: float | None
    least: float
    """The share of the peak that a GPU in order passes."""
    stage: str
    """In which it was measured."""


def _figures(gpu: Gpu, smokes: tuple[Smoke, ...], product: GpuProduct | None) -> Iterator[_Figure]:
    """The rates of this GPU that were measured with sizes that keep it busy; the best of those that a framework measured alike."""
    for smoke in smokes:
        for one in smoke.products:
            if one.address == gpu.key and one.size >= LARGE_PRODUCT and isinstance(one.flops, int | float):
                peak: float | None = getattr(product, f"{one.precision}_tflops", None)
                yield _Figure(
                    smoke.framework, f"{one.precision.upper()} products", one.flops / 1e12, "TFLOPS", peak, PRODUCTS_SHARE, "products"
                )
        for rate in smoke.memory:
            if rate.address == gpu.key and rate.size >= LARGE_ARRAY and isinstance(rate.bytes_per_second, int | float):
                bandwidth = product.bandwidth_gbs if product else None
                yield _Figure(smoke.framework, "memory", rate.bytes_per_second / 1e9, "GB/s", bandwidth, MEMORY_SHARE, "memory")


def _siblings(gpu: Gpu, hardware: Hardware) -> list[Gpu]:
    return [other for other in hardware if other.key != gpu.key and isinstance(other.name, str) and other.name == gpu.name]


def _slow(figure: _Figure, others: list[_Figure]) -> str:
    """Why a rate is too low, in words; empty where it is not."""
    if figure.peak and figure.value < figure.least * figure.peak:
        share = figure.value / figure.peak
        return f"{figure.what} {figure.value:,.1f} {figure.unit}, {share:.0%} of the published {figure.peak:,.1f}"
    best = max((other.value for other in others if (other.framework, other.what) == (figure.framework, figure.what)), default=0.0)
    if figure.value < SIBLINGS_SHARE * best:
        return f"{figure.what} {figure.value:,.1f} {figure.unit} where another GPU of its kind here has {best:,.1f}"
    return ""


@rule(
    "GD909",
    severity=Severity.WARNING,
    breaks=Rung.TRAINED,
    since="0.1",
    about=SubjectKind.GPU,
    predicts=False,
    seen_at=Level.FULL,
    of_training=True,
    explains=(Explains(("gpu-not-faster-than-cpu",), "", Join.GPU),),
)
def gpu_slower_than_expected(gpu: Gpu, hardware: Hardware, snapshot: Snapshot, matrix: Matrix) -> Iterator[Problem]:
    """The GPU multiplies matrices, or reads its memory, far slower than its kind does.

    ## Why it matters
    Large products reach 60 to 95 percent of what the maker publishes, and so does reading memory. Less than half, or clearly less than
    another GPU of the same product in this machine, is time that every training loses. It is measured at level full only.

    ## What to do
    Look at the clocks and what holds them while the GPU works: heat, a lowered power limit, clocks that somebody has fixed, another
    process. One slow GPU among equal ones that none of these explains is a case for the maker.

    ## References
    - https://docs.nvidia.com/deploy/nvml-api/
    """
    smokes = _smokes(snapshot)
    product = matrix.gpu(gpu.name) if isinstance(gpu.name, str) else None
    figures = list(_figures(gpu, smokes, product))
    others = [figure for other in _siblings(gpu, hardware) for figure in _figures(other, smokes, product)]
    if not figures or not (others or any(figure.peak for figure in figures)):
        need(Missing(NOT_ASKED.cause, "its speed was not measured against a published figure or another GPU"), Rung.TRAINED)
    slow = [(figure, words) for figure in figures if (words := _slow(figure, others))]
    if slow:
        measured = dict.fromkeys((figure.framework, figure.stage) for figure, _ in slow)
        why, seen = _watched(gpu, _siblings(gpu, hardware), snapshot, tuple(measured))
        yield Problem(
            message=f"{gpu.label} is slow: {'; '.join(words for _, words in slow)}.{why}",
            confidence=Confidence.LIKELY,
            evidence=(*(Evidence(figure.what, words, figure.framework) for figure, words in slow), *seen),
            fixes=(
                Fix(
                    "Look at its clocks and what holds them while it works",
                    f"nvidia-smi -q -d UTILIZATION,CLOCK,PERFORMANCE,POWER,TEMPERATURE -i {gpu.key}",
                    kind=FixKind.CHECK,
                ),
                _unlock(gpu),
                Fix("Have the card examined, if its siblings are faster.", kind=FixKind.ELSE),
            ),
        )
