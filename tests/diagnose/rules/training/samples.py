"""GPUs whose smoke training was sampled or measured, for tests of single rules."""

from __future__ import annotations

from typing import Any

from gpudoctor.snapshot import GpuLoad, Held, Loads, Product, Snapshot, Span, StageKind, StageLoad
from tests.builders import address, machine, smoke
from tests.diagnose.rules.asking import with_gpus
from tests.machines.measured import A100

SAMPLES = 20
SECOND = 1_000_000_000


def stage(kind: StageKind = StageKind.TRAINING, **changes: Any) -> StageLoad:
    """A stage in which an A100 was busy."""
    whole: dict[str, Any] = {
        "clock_sm": Span(1395, 1395, 1410),
        "held": (Held(0x4, SAMPLES),),
        "utilization": 95,
        "link_generation": 4,
        "link_width": 16,
        "temperature": 70,
        "power": 398_000,
        "power_limit": 400_000,
        "replays": 0,
        **changes,
    }
    return StageLoad(stage=kind, samples=SAMPLES, seconds=2.5, **whole)


def watched(*stages: StageLoad, number: int = 0, **changes: Any) -> GpuLoad:
    """What NVML sampled of one GPU while TensorFlow trained on it."""
    whole: dict[str, Any] = {"listed": True, "memory_before": 0, "memory_most": 1 << 30, "utilization": 95, **changes}
    return GpuLoad(framework="tensorflow", address=address(number), stages=stages or (stage(),), **whole)


def trained(*loads: GpuLoad, gpus: int = 1, products: tuple[Product, ...] = (), **card: Any) -> Snapshot:
    """A100s on which TensorFlow trained, each with these changes to what NVML says of it."""
    known: dict[str, Any] = {
        "clock_sm_max": 1410, "clocks_event_reasons": 0x1, "link_generation": 1, "link_generation_max": 4, "link_width": 16,
        "link_width_max": 16, "power_limit": 400_000, "power_limit_default": 400_000, "virtualization": "none", **card,
    }  # fmt: skip
    return with_gpus(*(known for _ in range(gpus)), smoke=(smoke(gpus, products=products),), loads=Loads(loads, 9.0, 0.1))


def measured(*shares: float, size: int = 8192, **changes: Any) -> Snapshot:
    """A100s that reach these shares of an A100's matmul rates."""
    products = tuple(
        Product(f"GPU:{number}", precision, size, flops * share, 0.0, 5e-4, address=address(number))
        for number, share in enumerate(shares)
        for precision, flops in A100.items()
    )
    return machine(len(shares), smoke=(smoke(len(shares), products=products, **changes),))
