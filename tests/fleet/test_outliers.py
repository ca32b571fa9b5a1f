"""GPUs that are slower than their siblings: how often a healthy fleet has one, and how surely a slow one is found."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.fleet.figures import FigureKey, figures_of_snapshot
from gpudoctor.fleet.findings import FleetFindings
from gpudoctor.fleet.outliers import FEWEST_FIGURES, FigureResult, FigureSample
from gpudoctor.report.fleet import NodeFinding
from gpudoctor.snapshot import GpuLoad, Loads, StageKind
from gpudoctor.snapshot.telemetry import Span, StageLoad
from tests.builders import machine

RATE = FigureKey("NVIDIA A100-SXM4-80GB", "torch 2.8.0", "Product", "flops", ("fp16", 8192))
STEP = FigureKey("NVIDIA A100-SXM4-80GB", "torch 2.8.0", "CompiledStep", "step_seconds", ())


def result(values: list[float], key: FigureKey = RATE) -> FigureResult:
    sample = FigureSample(key)
    for row, value in enumerate(values):
        sample.add(value, row, "0000:01:00.0")
    return sample.result()


@pytest.mark.parametrize(("clock", "figure"), [(1980, [1980]), (0, []), (-1, [])])
def test_what_no_gpu_can_measure_is_no_figure(clock: int, figure: list[int]) -> None:
    stage = StageLoad(StageKind.TRAINING, samples=9, seconds=1.0, clock_sm=Span(clock, clock, clock))
    loads = Loads((GpuLoad("torch", "0000:01:00.0", stages=(stage,)),), seconds=1.0, cpu_seconds=0.0)
    assert [number for _, _, number in figures_of_snapshot(machine(loads=loads), "NVIDIA L4")] == figure


@pytest.mark.parametrize(("size", "fleets"), [(8, 1500), (64, 400), (1024, 40), (10_000, 4)])
def test_a_healthy_fleet_rarely_has_an_outlier(size: int, fleets: int) -> None:
    chance = random.Random(size)
    alarms = sum(bool(result([chance.gauss(300e12, 6e12) for _ in range(size)]).worse) for _ in range(fleets))
    assert alarms <= 0.005 * fleets + 3 * (0.005 * fleets) ** 0.5


@pytest.mark.parametrize(("size", "fleets", "least"), [(8, 200, 0.8), (64, 50, 1), (1024, 5, 1), (10_000, 2, 1)])
def test_a_gpu_that_is_eight_percent_slower_is_found(size: int, fleets: int, least: float) -> None:
    chance, hits = random.Random(size), 0
    for _ in range(fleets):
        values = [chance.gauss(300e12, 1.8e12) for _ in range(size)]
        values[3] *= 0.92
        hits += [worse.place for worse in result(values).worse] == [3]
    assert hits >= least * fleets


def test_less_than_the_floor_is_no_outlier_however_equal_the_others_are() -> None:
    assert result([100.0] * 50 + [98.0]).worse == ()
    assert [worse.place for worse in result([100.0] * 50 + [96.0]).worse] == [50]


def test_a_longer_step_is_worse_and_a_higher_rate_is_not() -> None:
    assert [worse.place for worse in result([2.0] * 20 + [2.4, 1.6], STEP).worse] == [20]
    assert [worse.place for worse in result([2.0] * 20 + [2.4, 1.6]).worse] == [21]


@given(st.lists(st.floats(1e-3, 1e15), min_size=1, max_size=FEWEST_FIGURES - 1))
def test_too_few_to_compare_have_no_limit(values: list[float]) -> None:
    found = result(values)
    assert (found.limit, found.worse, found.count) == (None, (), len(values))


@given(st.lists(st.floats(1e-3, 1e15), min_size=FEWEST_FIGURES, max_size=60), st.randoms())
def test_the_order_of_the_reports_does_not_matter(values: list[float], chance: random.Random) -> None:
    shuffled = chance.sample(values, len(values))
    figure, other = result(values), result(shuffled)
    assert (figure.median, figure.limit) == (other.median, other.limit)
    assert sorted(worse.value for worse in figure.worse) == sorted(worse.value for worse in other.worse)
    assert figure.limit is None or all(worse.value < figure.limit for worse in figure.worse)


def test_a_finding_whose_id_is_not_of_its_code_explains_by_its_name() -> None:
    found = NodeFinding("strange:0000:01:00.0", "gpu-fell-off-bus", "error")
    assert FleetFindings().explaining_finding((found,), "0000:01:00.0") == (found.id, "gpu-fell-off-bus")
