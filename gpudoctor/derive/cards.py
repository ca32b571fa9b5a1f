"""GPUs as fit needs them, from the table or from what was observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from gpudoctor.amounts import parameter_count_text
from gpudoctor.derive.views.gpu import GpuView
from gpudoctor.fit.accounting import RESERVED_BYTES
from gpudoctor.fit.card import VOLTA, Card
from gpudoctor.fit.run_options import PRECISIONS, Asked
from gpudoctor.matrix import GpuProduct, Matrix
from gpudoctor.matrix.tables import DRIVERS, GPUS
from gpudoctor.snapshot import Missing, NvmlGpu, Smoke
from gpudoctor.versions import Version

USABLE_SHARE = 0.97
"""The share of the memory that CUDA leaves to programs: 14,912 of the 15,360 MiB of a T4 (fitcheck-llm 0.3.1, data/measurements), 9.78 of the 10 GiB of
an RTX 3080 (https://github.com/zai-org/CogVideo/issues/34), 23.70 of the 24 GiB of an RTX 3090 (https://github.com/GaoLii/DSP/issues/10)."""
SHARE_WITH_ECC = 1 - 1 / 16
"""The share of GDDR memory that ECC leaves, which is on in data centres; HBM has bits of its own for it.

https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/
"""
_GIB = 1 << 30
_RATE_NAMES = ("fp32", "tf32", "bf16", "fp16")
_LANE_RATES = {1: 2.5 * 0.8, 2: 5 * 0.8, 3: 8 * 128 / 130, 4: 16 * 128 / 130, 5: 32 * 128 / 130}
"""Gigabits a second of one PCIe lane by generation, after encoding: https://pcisig.com/faq"""
_HBM_CAPABILITIES = {Version(6, 0), Version(7, 0), Version(8, 0), Version(9, 0), Version(10, 0), Version(10, 3)}
"""Compute capabilities of the chips with HBM, one a generation: GP100, GV100, GA100, GH100, GB100 and GB300."""
_SMALLEST_MATRIX = 4096
"""Rows of the smallest matrices whose matmul keeps a GPU busy."""


def published_card(product: GpuProduct) -> Card | None:
    """Return a GPU of the table; None if its memory is unknown."""
    if product.memory_gib is None:
        return None
    total = round(product.memory_gib * _GIB)
    usable = USABLE_SHARE * (SHARE_WITH_ECC if product.kind == "data-center" and product.compute_capability not in _HBM_CAPABILITIES else 1)
    note = "; ".join(filter(None, (product.note, "memory is shared with the CPU" * (product.kind == "jetson"))))
    return Card(name=product.name, available=round(usable * total), total=total, observed=False, note=note, **_published_rates(product))


def card_with_share(card: Card, share: float) -> Card:
    """Return the GPU for a framework whose tensors take at most this share of its memory; CUDA's own part is beside it."""
    seen = card.total if card.observed else card.available
    return msgspec.structs.replace(card, available=min(card.available, round(share * seen) + RESERVED_BYTES))


def product_suitability(product: GpuProduct) -> str:
    """Return what a GPU of the table is enough for, in a phrase; "" if its memory is unknown."""
    card = published_card(product)
    return card_suitability(card) if card else ""


def card_suitability(card: Card) -> str:
    """Return the precisions of a GPU's tensor cores, its memory bandwidth, and the largest models before activations, in a phrase."""
    *most, last = card.tensor_core_precisions or ("no",)
    half = next((name for name in ("bf16", "fp16") if name.upper() in card.tensor_core_precisions), "fp32")
    unsure = " known" * (not card.tensor_core_precisions and card.has_capability(VOLTA))
    bandwidth = f", {card.bandwidth / 1e9:,.0f} GB/s" if card.bandwidth else ""
    adapted = max(0, card.available - RESERVED_BYTES) // PRECISIONS[half].bytes
    return (
        f"{', '.join(most)}{' and ' * bool(most)}{last} tensor cores{unsure}{bandwidth}; before activations, AdamW trains up to "
        f"{parameter_count_text(card.parameters(Asked(precision=half)))} parameters in {half.upper()} and LoRA up to {parameter_count_text(adapted)}"
    )


def supported_cards(matrix: Matrix) -> tuple[Card, ...]:
    """Return the GPUs of the table that the newest driver supports, with known memory and bandwidth, other than Jetsons, the smallest first."""
    newest = max(row.branch for row in matrix.rows(DRIVERS))
    supported = {
        version: matrix.branches_for(version)[1] == newest for version in {product.compute_capability for product in matrix.rows(GPUS)}
    }
    products = (product for product in matrix.rows(GPUS) if product.kind != "jetson" and supported[product.compute_capability])
    cards = (published_card(product) for product in products if product.bandwidth_gbs)
    return tuple(sorted((card for card in cards if card), key=lambda card: (card.total, card.bandwidth or 0)))


def observed_card(gpu: GpuView) -> Card | None:
    """Return a GPU of a machine that was examined; None if its free memory is unknown."""
    nvml = gpu.observed.nvml
    if not isinstance(nvml, NvmlGpu) or isinstance(nvml.memory_free, Missing) or isinstance(nvml.memory_total, Missing):
        return None
    capability = gpu.capability_or_missing
    product = gpu.machine.matrix.gpu(gpu.model)
    card = Card(
        name=gpu.model if gpu.machine.gpus[1:] == () else f"{gpu.model}, {gpu.label}",
        available=nvml.memory_free,
        total=nvml.memory_total,
        observed=True,
        **{
            **(_published_rates(product) if product else {}),
            "capability": _capability_numbers(capability) if isinstance(capability, Version) else None,
        },
    )
    card = msgspec.structs.replace(card, against_cpu=_speedups_over_cpu(gpu.machine.smokes, gpu.key))
    return _card_with_host_rate(_card_with_measured_rates(card, gpu), gpu, nvml)


def _published_rates(product: GpuProduct) -> dict[str, Any]:
    rates = {name: getattr(product, f"{name}_tflops") for name in _RATE_NAMES}
    return {
        "capability": _capability_numbers(product.compute_capability),
        "flops": {name: 1e12 * rate for name, rate in rates.items() if rate},
        "bandwidth": product.bandwidth_gbs * 1e9 if product.bandwidth_gbs else None,
    }


def _capability_numbers(version: Version) -> tuple[int, int]:
    return version.major, version.minor


def _card_with_measured_rates(card: Card, gpu: GpuView) -> Card:
    """Return the card with the rates that a check at level full measured on it; as it is if none did."""
    smokes = gpu.machine.smokes
    flops = {
        product.precision: float(product.flops)
        for smoke in smokes
        for product in smoke.products
        if product.address == gpu.key and product.size >= _SMALLEST_MATRIX and isinstance(product.flops, int | float)
    }
    bandwidth = _fastest_rate(rate.bytes_per_second for smoke in smokes for rate in smoke.memory if rate.address == gpu.key)
    if not flops or bandwidth is None:
        return card
    return msgspec.structs.replace(card, flops=flops, bandwidth=bandwidth, measured=True)


def _card_with_host_rate(card: Card, gpu: GpuView, nvml: NvmlGpu) -> Card:
    """Return the card with the rate at which it copies from the host."""
    copied = _fastest_rate(
        copy.bytes_per_second for smoke in gpu.machine.smokes for copy in smoke.copies if copy.address == gpu.key and copy.direction == "to"
    )
    if copied is not None:
        return msgspec.structs.replace(card, host_rate=copied, host_basis="measured")
    generation, width = nvml.link_generation_max, nvml.link_width
    lane = _LANE_RATES.get(generation) if isinstance(generation, int) else None
    if lane is None or not isinstance(width, int) or not width:
        return card
    return msgspec.structs.replace(card, host_rate=lane * width * 1e9 / 8, host_basis=f"PCIe {generation}.0 x{width}")


def _fastest_rate(rates: Iterable[object]) -> float | None:
    return max((float(rate) for rate in rates if isinstance(rate, int | float)), default=None)


def _speedups_over_cpu(smokes: tuple[Smoke, ...], address: str) -> Mapping[tuple[str, int], float]:
    """Return how many times as fast as the CPU a GPU trained, by network and batch."""
    return {
        (speed.network, speed.batch): float(speed.samples_per_second) / float(speed.cpu_samples_per_second)
        for smoke in smokes
        for speed in smoke.speeds
        if speed.address == address and isinstance(speed.samples_per_second, int | float) and _is_positive(speed.cpu_samples_per_second)
    }


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and value > 0
