"""The part of gpu_acceptance that compares figures: the smoke training's with plain loops, cuBLAS and nvidia-smi's samples."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from gpudoctor.snapshot import normalise_address
from scripts.acceptance import nvidia_smi
from scripts.acceptance.levels import level
from scripts.acceptance.results import NO_FRAMEWORK, ROOT, Acceptance

LOOP_BATCH: Final = 1024
RATIO, VENDOR_SHARE = 0.95, 0.9
"""The share of a plain training loop's speed, and of cuBLAS at its best size, that the smoke training must reach."""
VENDOR_SIZES: Final = ("4096", "8192", "16384")
CALIBRATION: Final = 10.0
"""Seconds for measuring copies, memory and matmuls on a GPU, including the choice of sizes."""
MEASURES: Final = ("copies", "memory", "products")
PAUSE: Final = 0.2
"""Seconds between two queries of nvidia-smi."""


def smokes(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the smoke training of each framework in a report."""
    found = report["snapshot"].get("smoke")
    return found if isinstance(found, list) else []


def against_loop(acceptance: Acceptance, name: str) -> None:
    """Compare the smoke training's speed with a plain loop in the same framework."""
    what = f"{name}: as fast as a plain loop"
    speeds = [speed for smoke in smokes(acceptance.reports.get(f"train {name}", {"snapshot": {}})) for speed in smoke.get("speeds", ())]
    numbers = [speed["samples_per_second"] for speed in speeds if speed["batch"] == LOOP_BATCH and speed["device"] == "GPU:0"]
    if not numbers:
        acceptance.skip(what, f"the smoke training reported no speed for batches of {LOOP_BATCH} on GPU:0")
        return
    done = acceptance.run(acceptance.python, ROOT / "scripts" / "acceptance" / f"loop_{name}.py", "gpu", str(LOOP_BATCH))
    if done.returncode:
        acceptance.judge(what, holds=False, detail=(done.stderr.strip().splitlines() or ["no word"])[-1])
        return
    plain = float(done.stdout.split()[-1])
    told = f"{numbers[0]:,.0f} and {plain:,.0f} images per second, {numbers[0] / plain:.3f}"
    acceptance.judge(what, numbers[0] / plain >= RATIO, told)


def against_vendor(acceptance: Acceptance) -> None:
    """Compare matmuls on the first GPU with cuBLAS at its best size, and check how long measuring took on each GPU."""
    fulls = {name: report for name, report in acceptance.reports.items() if name.startswith("full ")}
    if not fulls:
        acceptance.skip("matmuls against cuBLAS", NO_FRAMEWORK)
        return
    for report in fulls.values():
        for smoke in smokes(report):
            _calibration(acceptance, smoke)
    done = acceptance.run(acceptance.python, ROOT / "scripts" / "acceptance" / "cublas_matmul.py", *VENDOR_SIZES)
    if done.returncode:
        acceptance.skip("matmuls against cuBLAS", (done.stderr.strip().splitlines() or ["no output"])[-1])
        return
    rates = {precision: max(by_size.items(), key=lambda one: one[1]) for precision, by_size in json.loads(done.stdout).items()}
    for report in fulls.values():
        for smoke in smokes(report):
            _products(acceptance, smoke, rates)


def _products(acceptance: Acceptance, smoke: Mapping[str, Any], rates: Mapping[str, tuple[str, float]]) -> None:
    for product in smoke.get("products", ()):
        if product["device"] == "GPU:0" and product["precision"] in rates:
            size, best = rates[product["precision"]]
            share = product["flops"] / best
            told = f"{product['flops'] / 1e12:.1f} TFLOPS at {product['size']}, {best / 1e12:.1f} at {size}, {share:.3f}"
            what = f"{smoke['framework']}: matmuls in {product['precision'].upper()} reach {VENDOR_SHARE:.0%} of cuBLAS"
            acceptance.judge(what, share >= VENDOR_SHARE, told)


def _calibration(acceptance: Acceptance, smoke: Mapping[str, Any]) -> None:
    took: dict[str, float] = {}
    for stage in smoke.get("stages", ()):
        device = stage.get("device", "")
        if stage["name"] in MEASURES and isinstance(stage.get("seconds"), int | float):
            took[device] = took.get(device, 0.0) + stage["seconds"]
    told = ", ".join(f"{device} {seconds:.1f} s" for device, seconds in took.items())
    what = f"{smoke['framework']}: copies, memory and matmuls take less than {CALIBRATION:.0f} s a GPU"
    acceptance.judge(what, bool(took) and max(took.values()) < CALIBRATION, told or "none was measured")


def all_reduce(acceptance: Acceptance) -> None:
    """On several GPUs, check each framework's all-reduce over all of them, and note its bandwidth."""
    for name, report in acceptance.reports.items():
        for smoke in smokes(report) if name.startswith("full ") else ():
            what, runs = f"{smoke['framework']}: an all-reduce over all GPUs is right", smoke.get("all_reduces")
            if len(report["snapshot"]["nvml"].get("gpus") or ()) < 2:
                acceptance.skip(what, "there is one GPU")
            elif not isinstance(runs, list):
                acceptance.judge(what, holds=False, detail=str(runs))
            else:
                acceptance.judge(what, all(map(_summed, runs)), "; ".join(map(_told, runs)))


def _summed(run: Mapping[str, Any]) -> bool:
    whole = all(stage["state"] == "done" for stage in run["stages"])
    return whole and bool(run["sums"]) and all(one["error"] == 0 for one in run["sums"])


def _told(run: Mapping[str, Any]) -> str:
    sums = ", ".join(f"{one['size'] >> 10} KiB {one['bus_bytes_per_second'] / 1e9:.1f} GB/s, off by {one['error']}" for one in run["sums"])
    return f"over {len(run['devices'])}, P2P {'free' if run['p2p'] else 'off'}: {sums or 'no sum'}"


@dataclass(frozen=True)
class Sampled:
    """A value that both sample: nvidia-smi's name, ours in a stage or for the whole GPU, the unit, and how far the maxima may differ.

    The two sample at different times, so a peak shorter than the interval may appear in only one.
    """

    query: str
    ours: str
    scale: float
    apart: float
    """As a share of the larger one, or in the unit, whichever is more."""
    units: float


SAMPLED: Final = (
    Sampled("power.draw", "power", 1e-3, 0.15, 20),
    Sampled("temperature.gpu", "temperature", 1, 0, 4),
    Sampled("clocks.sm", "clock_sm", 1, 0.05, 30),
    Sampled("clocks.mem", "clock_memory", 1, 0.05, 30),
    Sampled("utilization.gpu", "utilization", 1, 0, 15),
    Sampled("memory.used", "memory_most", 1 / (1 << 20), 0.1, 700),
)
"""In watts, degrees, MHz, percent and MiB."""


def watched(acceptance: Acceptance, framework: str) -> None:
    """Check at level full while nvidia-smi samples the GPUs too, and compare the highest values that each saw."""
    with sampling() as seen:
        level(acceptance, "full", framework)
    loads = acceptance.reports[f"full {framework}"]["snapshot"].get("loads")
    what = f"full {framework}: NVML's samples match nvidia-smi"
    if not isinstance(loads, dict) or not loads.get("gpus"):
        acceptance.judge(what, holds=False, detail=str(loads))
        return
    most = highest(seen)
    for load in loads["gpus"]:
        theirs = most.get(load["address"], {})
        pairs = [
            (sampled, ours, theirs[sampled.query])
            for sampled in SAMPLED
            if sampled.query in theirs and (ours := most_of(load, sampled)) is not None
        ]
        apart = [sampled.query for sampled, ours, its in pairs if abs(ours - its) > max(sampled.apart * max(ours, its), sampled.units)]
        told = ", ".join(f"{sampled.query} {ours:.0f} and {its:.0f}" for sampled, ours, its in pairs)
        acceptance.judge(what, bool(pairs) and not apart, told or f"nothing to compare with for {load['address']}")
    samples = sum(stage["samples"] for load in loads["gpus"] for stage in load["stages"])
    rate = f"{samples} samples in stages, {loads['seconds']:.1f} s, {loads['cpu_seconds']:.2f} CPU seconds; cut: {loads.get('cut') or 'no'}"
    acceptance.judge(f"full {framework}: NVML was sampled to the end", samples > 0 and not loads.get("cut"), rate)


def most_of(load: Mapping[str, Any], sampled: Sampled) -> float | None:
    """Return the highest value in our own samples."""
    values = [load.get(sampled.ours), *(stage.get(sampled.ours) for stage in load["stages"])]
    spans = [value["highest"] if isinstance(value, dict) and "highest" in value else value for value in values]
    numbers = [value for value in spans if isinstance(value, int | float)]
    return max(numbers) * sampled.scale if numbers else None


@contextmanager
def sampling() -> Iterator[list[dict[str, str]]]:
    """Query nvidia-smi several times a second inside the block; its samples of each GPU are there afterwards."""
    rows: list[dict[str, str]] = []
    over = threading.Event()

    def ask() -> None:
        while not over.wait(PAUSE):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                rows.extend(nvidia_smi.queried(["pci.bus_id", *(sampled.query for sampled in SAMPLED)])[0])

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield rows
    finally:
        over.set()
        thread.join(10)


def highest(rows: Iterable[Mapping[str, str]]) -> dict[str, dict[str, float]]:
    """Return the maximum of each value by GPU address, without values that are not numbers."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        of_gpu = found.setdefault(str(normalise_address(row["pci.bus_id"])), {})
        for query, text in row.items():
            if text.replace(".", "", 1).isdigit():
                of_gpu[query] = max(of_gpu.get(query, 0.0), float(text))
    return found
