"""Eight GPUs with the same training, one of which fell behind: the watch recorded over the shims, applied to each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.snapshot import GpuLoad, Held, Nvml, Smoke, SmokeDevice, Snapshot, Span
from tests.machines.loaded import SAMPLES, recorded

Change = Callable[[Snapshot], Snapshot]
replace = msgspec.structs.replace


def _addresses(snapshot: Snapshot) -> list[str]:
    assert isinstance(snapshot.nvml, Nvml)
    assert isinstance(snapshot.nvml.gpus, tuple)
    return [str(gpu.address) for gpu in snapshot.nvml.gpus]


def _on_each(smoke: Smoke, addresses: list[str]) -> Smoke:
    """The first GPU's training, on every other too."""
    names = [f"GPU:{number}" for number in range(len(addresses))]
    places = list(zip(names, addresses, strict=True))
    return replace(
        smoke,
        devices=tuple(SmokeDevice(name, "gpu", address=address) for name, address in places),
        kernels=tuple(replace(kernel, device=name, ran_on=name, address=address) for name, address in places for kernel in smoke.kernels),
        trainings=tuple(
            replace(training, device=name, placed_on=(name,), address=address) for name, address in places for training in smoke.trainings
        ),
    )


def alike(trained: Change, *, but: int = 4, **differing: Any) -> Change:
    """All trained and watched; every stage of the GPU with the index `but` differs in these fields."""

    def change(snapshot: Snapshot) -> Snapshot:
        here = trained(snapshot)
        assert isinstance(here.smoke, tuple)
        addresses, loads = _addresses(here), recorded()
        (load,) = loads.gpus

        def of(number: int, address: str) -> GpuLoad:
            fields = {"held": (Held(0x4, SAMPLES),), "samples": SAMPLES, **(differing if number == but else {})}
            return replace(load, address=address, stages=tuple(replace(stage, **fields) for stage in load.stages))

        watched = tuple(of(number, address) for number, address in enumerate(addresses))
        return replace(here, smoke=(_on_each(here.smoke[0], addresses),), loads=replace(loads, gpus=watched))

    return change


def cases(trained: Change) -> dict[str, dict[str, Any]]:
    """Each machine as the fields of an Edited; `trained` adds the training."""
    ill = {"base": "healthy-eight", "verdict": "degraded", "roots": ("gpu-behind-its-siblings",)}
    return {
        "eight-trained-on-alike": {
            "about": "eight GPUs, all at the same clock and power while they train",
            "base": "healthy-eight",
            "change": alike(trained),
            "verdict": "ready",
        },
        "one-of-eight-clocks-lower": {
            "about": "one of eight GPUs at 915 MHz where the others run at 1,305, and no reason is given",
            **ill,
            "change": alike(trained, clock_sm=Span(900, 915, 930), held=(Held(0x0, SAMPLES),)),
        },
        "one-of-eight-draws-little": {
            "about": "one of eight GPUs draws 140 W where the others draw 398 W for the same work",
            **ill,
            "change": alike(trained, power=140_000),
        },
        "one-of-eight-clocks-lower-for-heat": {
            "about": "one of eight GPUs at half the clock of the others, held by heat: one cause",
            **ill,
            "change": alike(trained, clock_sm=Span(690, 705, 720), held=(Held(0x20, SAMPLES),)),
            "roots": ("thermal-throttled",),
            "folded": ("gpu-behind-its-siblings",),
        },
    }
