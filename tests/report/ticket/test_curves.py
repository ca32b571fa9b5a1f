"""The curves of a ticket's page: where their points lie."""

from __future__ import annotations

import math

import pytest

from gpudoctor.report.ticket.curves import HEIGHT, WIDTH, trainings
from gpudoctor.snapshot import Smoke, Snapshot, Training

TOP, BOTTOM = 1.0, HEIGHT - 1.0


def points(*losses: float) -> list[tuple[float, float]]:
    """Return the points of a loss curve, from the top left corner."""
    run = Training("CPU:0", ("CPU:0",), len(losses), losses, 0.9, 0.8, 1.0, 100.0)
    (panel,) = trainings(Snapshot(created="", smoke=(Smoke(framework="tensorflow", trainings=(run,)),)))
    (curve,) = panel.curves
    return [(float(x), float(y)) for x, _, y in (point.partition(",") for point in curve.points.split())]


@pytest.mark.parametrize("losses", [(math.e**3, math.e**2, math.e), (6.0, 3.0, 0.0), (2.0, 0.0, -2.0), (-3.0, -5.0, -7.0)])
def test_a_curve_reaches_from_the_top_to_the_bottom_of_its_picture(losses: tuple[float, ...]) -> None:
    """Positive losses are drawn by their logarithm."""
    assert points(*losses) == [(0.0, TOP), (WIDTH / 2, HEIGHT / 2), (WIDTH, BOTTOM)]


def test_a_constant_value_runs_through_the_middle() -> None:
    assert {y for _, y in points(2.0, 2.0, 2.0)} == {HEIGHT / 2}
