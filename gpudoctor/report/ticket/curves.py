"""Curves as points of an SVG: the losses of a training run, and what a GPU did in its stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gpudoctor.derive.stages import work_text
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report.sparkline import thinned_values
from gpudoctor.snapshot import GpuLoad, Loads, Missing, Real, Snapshot, Span, StageLoad

WIDTH, HEIGHT = 320, 90
_MAX_POINTS = 400
"""Points of a curve; more cannot be told apart."""


class PlottedCurve(NamedTuple):
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


class CurvePanel(NamedTuple):
    """What one framework did on one device."""

    title: str
    curves: tuple[PlottedCurve, ...]
    stages: str = ""
    """What followed on what."""


def training_panels(snapshot: Snapshot) -> list[CurvePanel]:
    """Return the loss curves, by framework and device."""
    panels: dict[str, list[PlottedCurve]] = {}
    for smoke in () if isinstance(snapshot.smoke, Missing) else snapshot.smoke:
        version = f" {smoke.version}" if isinstance(smoke.version, str) else ""
        for training in smoke.trainings:
            curve = _loss_curve(f"loss of the {training.network} network, {count_with_noun(training.steps, 'step')}", training.losses)
            if curve is not None:
                panels.setdefault(f"{smoke.framework}{version} on {training.device}", []).append(curve)
    return [CurvePanel(title, tuple(curves)) for title, curves in panels.items()]


def load_panels(snapshot: Snapshot) -> list[CurvePanel]:
    """Return clock, power, temperature and utilisation of each GPU over the stages of its training."""
    gpus = snapshot.loads.gpus if isinstance(snapshot.loads, Loads) else ()
    panels = (CurvePanel(f"{load.framework} on {load.address}", tuple(_load_curves(load)), _stage_times(load)) for load in gpus)
    return [panel for panel in panels if panel.curves]


def _loss_curve(title: str, losses: Sequence[Real]) -> PlottedCurve | None:
    """Return a loss curve; its heights are logarithms where every value is positive."""
    taken = thinned_values(losses, _MAX_POINTS)
    finite = [(place, value) for place, value in enumerate(taken) if isinstance(value, int | float) and math.isfinite(value)]
    if not finite:
        return None
    values = [value for _, value in finite]
    scale = math.log if min(values) > 0 else float
    last = max(len(taken) - 1, 1)
    points = [(place / last, scale(value)) for place, value in finite]
    there = {place for place, _ in finite}
    breaks = tuple(round(place / last * WIDTH, 1) for place in range(len(taken)) if place not in there)
    return PlottedCurve(
        title,
        _svg_points(points, *_height_range(points)),
        f"{min(values):.4g}",
        f"{max(values):.4g}",
        f"{values[0]:.4g} → {values[-1]:.4g}",
        breaks=breaks,
    )


def _load_curves(load: GpuLoad) -> Iterator[PlottedCurve]:
    for title, unit, read in _SENSOR_READINGS:
        found = [(stage, value) for stage in load.stages if (value := read(stage)) is not None]
        if not found:
            continue
        whole = sum(_stage_length(stage) for stage, _ in found)
        begin, points, begins = 0.0, [], []
        for stage, value in found:
            end = begin + _stage_length(stage) / whole
            points += [(begin, value), (end, value)]
            begins.append(round(begin * WIDTH, 1))
            begin = end
        values = [value for _, value in found]
        low, high = 0.0, max(values) * 1.05
        least, most = f"{min(values):,.0f} {unit}", f"{max(values):,.0f} {unit}"
        told = most if least == most else f"{least} to {most}"
        yield PlottedCurve(title, _svg_points(points, low, high), least, most, told, tuple(begins[1:]))


def _stage_times(load: GpuLoad) -> str:
    return ", ".join(f"{work_text(stage.stage, stage.network)} ({stage.seconds:.1f} s)" for stage in load.stages)


def _stage_length(stage: StageLoad) -> float:
    return max(stage.seconds, 0.05) if math.isfinite(stage.seconds) else 0.05


def _median_value(span: Span | Missing) -> float | None:
    return float(span.median) if isinstance(span, Span) else None


def _scaled_value(value: int | Missing, scale: float = 1) -> float | None:
    return value / scale if isinstance(value, int) else None


_SENSOR_READINGS: tuple[tuple[str, str, Callable[[StageLoad], float | None]], ...] = (
    ("SM clock", "MHz", lambda stage: _median_value(stage.clock_sm)),
    ("power", "W", lambda stage: _scaled_value(stage.power, 1000)),
    ("temperature", "°C", lambda stage: _scaled_value(stage.temperature)),
    ("utilisation", "%", lambda stage: _scaled_value(stage.utilization)),
)


def _height_range(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    heights = [height for _, height in points]
    return min(heights), max(heights)


def _svg_points(points: Sequence[tuple[float, float]], low: float, high: float) -> str:
    """Return the points in the units of the picture, y downwards."""

    def y(height: float) -> float:  # halves: the difference of two doubles may be more than a double holds
        return HEIGHT - 1 - (HEIGHT - 2) * ((height / 2 - low / 2) / (high / 2 - low / 2) if high / 2 > low / 2 else 0.5)

    return " ".join(f"{x * WIDTH:.1f},{y(height):.1f}" for x, height in points)
