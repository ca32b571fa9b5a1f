"""What NVML might show during training: a watch recorded over the shims, modified and added to another machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from gpudoctor.snapshot import Held, Loads, Nvml, Snapshot, Span, StageLoad, decode_snapshot
from tests.machines import measured

Change = Callable[[Snapshot], Snapshot]
RECORDED = Path(__file__).parent / "seen-at-work.json"
SAMPLES = 20
replace = msgspec.structs.replace


def recorded() -> Loads:
    loads = decode_snapshot(json.dumps(json.loads(RECORDED.read_bytes())["snapshot"]).encode()).loads
    assert isinstance(loads, Loads)
    return loads


def watched(trained: Change, *more: str, card: dict[str, Any] | None = None, load: dict[str, Any] | None = None, **stage: Any) -> Change:
    """Trained and watched, with additional stages `more`. Changed fields: of the GPU before, of its load, of every stage of it."""

    def change(snapshot: Snapshot) -> Snapshot:
        loads = recorded()
        (gpu,) = loads.gpus
        last = gpu.stages[-1]
        added = (replace(last, stage=name, samples=SAMPLES, held=(Held(0x4, SAMPLES),)) for name in more)
        stages: tuple[StageLoad, ...] = tuple(replace(stage_load, **stage) for stage_load in (*gpu.stages, *added))
        here = replace(trained(snapshot), loads=replace(loads, gpus=(replace(gpu, stages=stages, **(load or {})),)))
        assert isinstance(here.nvml, Nvml)
        assert isinstance(here.nvml.gpus, tuple)
        return replace(here, nvml=replace(here.nvml, gpus=tuple(replace(one, **(card or {})) for one in here.nvml.gpus)))

    return change


def held(reasons: int, clock: int = 1305) -> dict[str, Any]:
    """Each sample of a stage with these reasons, at that SM clock in MHz."""
    return {"held": (Held(reasons, SAMPLES),), "samples": SAMPLES, "clock_sm": Span(clock - 15, clock, clock + 30)}


UNSEEN: dict[str, Any] = {"listed": False, "memory_most": 0, "utilization": 0}
GENERATION_1: dict[str, Any] = {"link_generation": 1, "samples": SAMPLES}


def cases(trained: Change) -> dict[str, dict[str, Any]]:
    """Each machine as the fields of an Edited; `trained` adds the training."""
    healthy = {"base": "link-idles", "verdict": "ready"}
    ill = {"base": "link-idles", "verdict": "degraded"}
    throttled = measured.against_its_kind(trained, 0.33)
    return {
        "unseen-at-work": {
            "about": "TensorFlow says that it trained on the GPU; NVML saw no process, no memory, no work there",
            **ill,
            "change": watched(trained, load=UNSEEN, utilization=0),
            "verdict": "broken",
            "roots": ("smoke-ran-on-cpu",),
        },
        "unlisted-at-work": {
            "about": "NVML does not list the training's process, and saw its memory and its work: one alone is no proof",
            **healthy,
            "change": watched(trained, load={"listed": False}),
        },
        "link-slow-in-copies": {
            "about": "large copies at generation 1 of 4",
            **ill,
            "change": watched(trained, "copies", **GENERATION_1, utilization=0),
            "level": "full",
            "roots": ("pcie-link-degraded",),
        },
        "link-idles-at-work": {
            "about": "generation 1 of 4 in a training that hardly uses the GPU, and copies nothing large",
            **healthy,
            "change": watched(trained, **GENERATION_1, utilization=4),
        },
        "link-gives-lanes-up-when-idle": {
            "about": "four of sixteen lanes before the training, and all while it copies",
            **healthy,
            "change": watched(trained, card={"link_width": 4}),
        },
        "power-limit-lowered-at-work": {
            "about": "a limit of 250 W, 400 W is the default; idle before, and held there while it trains",
            **ill,
            "change": watched(trained, card={"power_limit": 250_000}, **held(0x4, 990)),
            "roots": ("power-throttled",),
        },
        "power-brake-at-work": {
            "about": "a power brake while it trains",
            **ill,
            "change": watched(trained, **held(0x88, 705)),
            "roots": ("power-throttled",),
        },
        "slowed-at-work-and-not-said-why": {
            "about": "a hardware slowdown without a reason while it trains",
            **ill,
            "change": watched(trained, **held(0x8, 705)),
            "roots": ("hw-slowdown",),
        },
        "gpu-at-a-third-of-its-clock": {
            "about": "products and memory at a third of what others reach, with clocks that somebody has set",
            **ill,
            "change": watched(throttled, "products", "memory", **held(0x2, 465)),
            "level": "full",
            "roots": ("gpu-slower-than-expected",),
        },
        "gpu-at-its-speed-and-watched": {
            "about": "an A100 as fast as others, at its power limit as they all are",
            **healthy,
            "change": watched(measured.against_its_kind(trained, 1.0), "products", "memory"),
            "level": "full",
        },
        "gpu-no-faster-than-the-cpu-at-a-low-clock": {
            "about": "a GPU that trains fewer images a second than the CPU beside it, at a third of its clock, and no reason is given",
            **ill,
            "change": watched(measured.against_the_cpu(trained, gpu=9_000.0, cpu=31_000.0), **held(0x0, 465)),
            "roots": ("gpu-not-faster-than-cpu",),
        },
    }
