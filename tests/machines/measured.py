"""Speeds that only a GPU could have: written by hand into a machine whose training was recorded on a CPU."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpudoctor.snapshot import MemoryRate, Nvml, Product, Smoke, Snapshot, Speed

Change = Callable[[Snapshot], Snapshot]
A100 = {"fp32": 18.5e12, "tf32": 130e12, "bf16": 255e12, "fp16": 258e12}
"""What an A100 reaches in large matmuls."""
MEMORY = 1.75e12


def _with(snapshot: Snapshot, figures: Callable[[str, str], dict[str, object]]) -> Snapshot:
    assert isinstance(snapshot.smoke, tuple)
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    smoke: Smoke = snapshot.smoke[0]
    address = snapshot.nvml.gpus[0].address
    assert isinstance(address, str)
    return msgspec.structs.replace(snapshot, smoke=(msgspec.structs.replace(smoke, **figures("GPU:0", address)), *snapshot.smoke[1:]))


def against_the_cpu(trained: Change, gpu: float, cpu: float) -> Change:
    """Images a second of the convolutional network."""

    def change(snapshot: Snapshot) -> Snapshot:
        return _with(
            trained(snapshot), lambda device, address: {"speeds": (Speed(device, "convolutional", 1024, gpu, cpu, address=address),)}
        )

    return change


def against_its_kind(trained: Change, share: float) -> Change:
    """Matmul and memory rates at this share of an A100's."""

    def figures(device: str, address: str) -> dict[str, object]:
        products = (Product(device, precision, 8192, flops * share, 0.0, 5e-4, address=address) for precision, flops in A100.items())
        return {"products": tuple(products), "memory": (MemoryRate(device, 1 << 30, MEMORY * share, address=address),)}

    return lambda snapshot: _with(trained(snapshot), figures)
