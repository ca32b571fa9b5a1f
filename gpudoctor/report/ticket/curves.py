"""Curves as points of an SVG: the losses of a training run, and what a GPU did in its stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gpudoctor.derive.stages import work
from gpudoctor.findings.naming import counted
from gpudoctor.report.sparkline import thinned
from gpudoctor.snapshot import GpuLoad, Loads, Missing, Real, Snapshot, Span, StageLoad

WIDTH, HEIGHT = 320, 90
_MOST = 400
"""Points of a curve; more cannot be told apart."""


class Curve(NamedTuple):
    """A line, and what it shows."""

    title: str
    points: str
    lowest: str
    highest: str
    told: str
    """How the value went, in words."""
    begins: tuple[float, ...] = ()
    """Where a stage begins."""
    breaks: tuple[float, ...] = ()
    """Where a value is not finite."""


class Panel(NamedTuple):
    """What one framework did on one device."""

    title: str
    curves: tuple[Curve, ...]
    stages: str = ""
    """What followed on what."""


def trainings(snapshot: Snapshot) -> list[Panel]:
    """Return the loss curves, by framework and device."""
    panels: dict[str, list[Curve]] = {}
    for smoke in () if isinstance(snapshot.smoke, Missing) else snapshot.smoke:
        version = f" {smoke.version}" if isinstance(smoke.version, str) else ""
        for training in smoke.trainings:
            curve = _losses(f"loss of the {training.network} network, {counted(training.steps, 'step')}", training.losses)
            if curve is not None:
                panels.setdefault(f"{smoke.framework}{version} on {training.device}", []).append(curve)
    return [Panel(title, tuple(curves)) for title, curves in panels.items()]


def loads(snapshot: Snapshot) -> list[Panel]:
    """Return clock, power, temperature and utilisation of each GPU over the stages of its training."""
    gpus = snapshot.loads.gpus if isinstance(snapshot.loads, Loads) else ()
    panels = (Panel(f"{load.framework} on {load.address}", tuple(_of_load(load)), _stages(load)) for load in gpus)
    return [panel for panel in panels if panel.curves]


def _losses(title: str, losses: Sequence[Real]) -> Curve | None:
    """Return a loss curve; its heights are logarithms where every value is positive."""
    taken = thinned(losses, _MOST)
    finite = [(place, value) for place, value in enumerate(taken) if isinstance(value, int | float) and math.isfinite(value)]
    if not finite:
        return None
    values = [value for _, value in finite]
    scale = math.log if min(values) > 0 else float
    last = max(len(taken) - 1, 1)
    points = [(place / last, scale(value)) for place, value in finite]
    there = {place for place, _ in finite}
    breaks = tuple(round(place / last * WIDTH, 1) for place in range(len(taken)) if place not in there)
    return Curve(
        title,
        _drawn(points, *_range(points)),
        f"{min(values):.4g}",
        f"{max(values):.4g}",
        f"{values[0]:.4g} → {values[-1]:.4g}",
        breaks=breaks,
    )


def _of_load(load: GpuLoad) -> Iterator[Curve]:
    for title, unit, read in _READINGS:
        found = [(stage, value) for stage in load.stages if (value := read(stage)) is not None]
        if not found:
            continue
        whole = sum(_length(stage) for stage, _ in found)
        begin, points, begins = 0.0, [], []
        for stage, value in found:
            end = begin + _length(stage) / whole
            points += [(begin, value), (end, value)]
            begins.append(round(begin * WIDTH, 1))
            begin = end
        values = [value for _, value in found]
        low, high = 0.0, max(values) * 1.05
        least, most = f"{min(values):,.0f} {unit}", f"{max(values):,.0f} {unit}"
        told = most if least == most else f"{least} to {most}"
        yield Curve(title, _drawn(points, low, high), least, most, told, tuple(begins[1:]))


def _stages(load: GpuLoad) -> str:
    return ", ".join(f"{work(stage.stage, stage.network)} ({stage.seconds:.1f} s)" for stage in load.stages)


def _length(stage: StageLoad) -> float:
    return max(stage.seconds, 0.05) if math.isfinite(stage.seconds) else 0.05


def _median(span: Span | Missing) -> float | None:
    return float(span.median) if isinstance(span, Span) else None


def _number(value: int | Missing, scale: float = 1) -> float | None:
    return value / scale if isinstance(value, int) else None


_READINGS: tuple[tuple[str, str, Callable[[StageLoad], float | None]], ...] = (
    ("SM clock", "MHz", lambda stage: _median(stage.clock_sm)),
    ("power", "W", lambda stage: _number(stage.power, 1000)),
    ("temperature", "°C", lambda stage: _number(stage.temperature)),
    ("utilisation", "%", lambda stage: _number(stage.utilization)),
)


def _range(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    heights = [height for _, height in points]
    return min(heights), max(heights)


def _drawn(points: Sequence[tuple[float, float]], low: float, high: float) -> str:
    """Return the points in the units of the picture, y downwards."""

    def y(height: float) -> float:  # halves: the difference of two doubles may be more than a double holds
        return HEIGHT - 1 - (HEIGHT - 2) * ((height / 2 - low / 2) / (high / 2 - low / 2) if high / 2 > low / 2 else 0.5)

    return " ".join(f"{x * WIDTH:.1f},{y(height):.1f}" for x, height in points)
