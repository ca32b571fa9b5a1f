"""The curves of a ticket's page: where their points lie."""

from __future__ import annotations

import math

import pytest

from gpudoctor.report.ticket.curves import HEIGHT, WIDTH, PlottedCurve, load_panels, training_panels
from gpudoctor.snapshot import Cause, GpuLoad, Loads, Missing, Real, Smoke, Snapshot, Span, StageKind, StageLoad, Training

TOP, BOTTOM = 1.0, HEIGHT - 1.0


def drawn(*losses: Real) -> PlottedCurve:
    """Return a loss curve."""
    run = Training("CPU:0", ("CPU:0",), len(losses), losses, 0.9, 0.8, 1.0, 100.0)
    (panel,) = training_panels(Snapshot(created="", smoke=(Smoke(framework="tensorflow", trainings=(run,)),)))
    (curve,) = panel.curves
    return curve


def points(*losses: Real) -> list[tuple[float, float]]:
    """Return the points of a loss curve, from the top left corner."""
    return places(drawn(*losses))


def places(curve: PlottedCurve) -> list[tuple[float, float]]:
    """Return the points of a curve, from the top left corner."""
    return [(float(x), float(y)) for x, _, y in (point.partition(",") for point in curve.points.split())]


@pytest.mark.parametrize("losses", [(math.e**3, math.e**2, math.e), (6.0, 3.0, 0.0), (2.0, 0.0, -2.0), (-3.0, -5.0, -7.0)])
def test_a_curve_reaches_from_the_top_to_the_bottom_of_its_picture(losses: tuple[float, ...]) -> None:
    """Positive losses are drawn by their logarithm."""
    assert points(*losses) == [(0.0, TOP), (WIDTH / 2, HEIGHT / 2), (WIDTH, BOTTOM)]


def test_a_constant_value_runs_through_the_middle() -> None:
    assert {y for _, y in points(2.0, 2.0, 2.0)} == {HEIGHT / 2}


def test_values_that_are_no_numbers_are_breaks_of_the_curve() -> None:
    curve = drawn(4.0, "nan", 2.0, "inf", 1.0)
    assert [x for x, _ in places(curve)] == [0.0, WIDTH / 2, WIDTH]
    assert curve.breaks == (WIDTH / 4, WIDTH * 3 / 4)
    assert (curve.lowest, curve.highest, curve.told) == ("1", "4", "4 → 1")


@pytest.mark.parametrize("steps", [2, 399, 400, 401, 799, 800, 1000, 100_000])
def test_a_long_curve_has_few_points_and_both_ends(steps: int) -> None:
    losses = [float(steps - step) for step in range(steps)]
    curve = drawn(*losses)
    seen = places(curve)
    assert (seen[0], seen[-1]) == ((0.0, TOP), (WIDTH, BOTTOM))
    assert min(steps, 300) <= len(seen) <= 400
    assert curve.told == f"{float(steps):.4g} → 1"


HIDDEN = Missing(Cause.UNSUPPORTED, "not these numbers")
STAGES = (
    StageLoad(StageKind.TRAINING, 10, 1.0, clock_sm=Span(210, 500, 1410), power=100_000, temperature=40, utilization=90),
    StageLoad(StageKind.SPEED, 10, 3.0, clock_sm=Span(900, 1000, 1410), power=HIDDEN, temperature=40, utilization=0),
    StageLoad(StageKind.PRODUCTS, 10, 4.0, clock_sm=HIDDEN, power=400_000, temperature=HIDDEN, utilization=HIDDEN),
)


def curves(*stages: StageLoad) -> dict[str, PlottedCurve]:
    """Return the curves of a GPU over some stages, by title."""
    load = GpuLoad("torch", "0000:01:00.0", stages)
    return {curve.title: curve for panel in load_panels(Snapshot(created="", loads=Loads((load,), 8.0, 0.1))) for curve in panel.curves}


def test_a_stage_is_as_wide_as_it_is_long_and_stages_without_the_value_are_left_out() -> None:
    found = curves(*STAGES)
    clock, power = found["SM clock"], found["power"]
    assert [x for x, _ in places(clock)] == [0.0, WIDTH / 4, WIDTH / 4, WIDTH]
    assert clock.begins == (WIDTH / 4,)
    assert [x for x, _ in places(power)] == [0.0, WIDTH / 5, WIDTH / 5, WIDTH]
    assert power.begins == (WIDTH / 5,)
    assert found["temperature"].begins == (WIDTH / 4,)


def test_a_load_is_drawn_from_zero_and_below_the_upper_edge() -> None:
    (_, first), _, (_, second), _ = places(curves(*STAGES)["SM clock"])
    assert TOP < second < first < BOTTOM
    assert BOTTOM - second == pytest.approx(2 * (BOTTOM - first), abs=0.11)
    assert {y for x, y in places(curves(*STAGES)["utilisation"]) if x > WIDTH / 4} == {BOTTOM}


def test_a_load_has_its_lowest_and_highest_value_in_its_unit() -> None:
    told = {title: (curve.lowest, curve.highest, curve.told) for title, curve in curves(*STAGES).items()}
    assert told == {
        "SM clock": ("500 MHz", "1,000 MHz", "500 MHz to 1,000 MHz"),
        "power": ("100 W", "400 W", "100 W to 400 W"),
        "temperature": ("40 °C", "40 °C", "40 °C"),
        "utilisation": ("0 %", "90 %", "0 % to 90 %"),
    }


@pytest.mark.parametrize("seconds", [0.0, math.nan, math.inf])
def test_a_stage_without_a_length_is_still_drawn(seconds: float) -> None:
    short = StageLoad(StageKind.SPEED, 1, seconds, temperature=60)
    seen = [x for x, _ in places(curves(StageLoad(StageKind.TRAINING, 10, 1.0, temperature=50), short)["temperature"])]
    assert seen[0] == 0.0
    assert 0.9 * WIDTH < seen[2] < seen[3] == WIDTH


def test_a_gpu_without_any_value_has_no_picture() -> None:
    assert curves(StageLoad(StageKind.TRAINING, 3, 0.2)) == {}
    assert load_panels(Snapshot(created="")) == []
