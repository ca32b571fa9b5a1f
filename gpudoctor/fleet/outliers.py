"""Finds the GPUs whose figures are worse than those of their siblings, by the median and the median absolute deviation.

Numbers are counted in bins of a fiftieth of a percent, so the memory does not grow with the fleet; only the worst are kept by name.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Final

import msgspec

from gpudoctor.fleet.figures import FigureKey, MeasuredFigure

FEWEST_FIGURES: Final = 8
"""Figures below which none is called an outlier."""
FALSE_ALARM_RATE: Final = 0.001
"""How often a healthy fleet has an outlier of one figure, if the figures are normally distributed and many."""
_SMALL_SAMPLE_FACTOR: Final = 10
"""For few figures the deviation itself is uncertain, so the limit is wider: by this over their number. Found by simulation:
at 8, 64, 1,024 and 10,000 figures at most one healthy fleet in 200 has an outlier (`tests/fleet/test_outliers.py`)."""
_BINS_PER_FACTOR: Final = 5000
"""Bins of a factor of e."""
_KEPT_WORST, _KEPT_MORE = 8192, 1024
"""How many of the worst numbers of a figure are kept by name, and how many more until the others are dropped."""
_MAX_FIGURES: Final = 5000
"""Figures that are followed; reports made to differ must not fill the memory."""
_DEVIATION: Final = 1 / NormalDist().inv_cdf(0.75)
"""The standard deviation of normally distributed numbers, in median absolute deviations: 1.4826."""


class WorseNumber(msgspec.Struct, frozen=True):
    """A number beyond the limit."""

    place: int
    address: str
    value: float


class FigureResult(msgspec.Struct, frozen=True):
    """What the numbers of one figure say."""

    key: FigureKey
    count: int
    median: float
    spread: float
    limit: float | None
    worse: tuple[WorseNumber, ...]


class FigureSample:
    """The numbers of one figure."""

    def __init__(self, key: FigureKey) -> None:
        self.key = key
        self._bins: Counter[float] = Counter()
        self._sign = 1 if key.kind.low_is_worse else -1
        self._values, self._places = array("d"), array("I")
        self._addresses: list[str] = []
        self._limit = math.inf
        """Beyond this no number is among the worst."""

    def add(self, value: float, place: int, address: str) -> None:
        """Count a number, and keep it if it is among the worst."""
        self._bins[round(math.log(value) * _BINS_PER_FACTOR)] += 1
        if value * self._sign >= self._limit:
            return
        self._values.append(value)
        self._places.append(place)
        self._addresses.append(address)
        if len(self._values) == _KEPT_WORST + _KEPT_MORE:
            self._keep_worst()

    def _keep_worst(self) -> None:
        """Keep the worst."""
        ordered = sorted(range(len(self._values)), key=lambda number: self._values[number] * self._sign)
        self._limit = self._values[ordered[_KEPT_WORST]] * self._sign
        kept = ordered[:_KEPT_WORST]
        self._values, self._places = (
            array("d", (self._values[number] for number in kept)),
            array("I", (self._places[number] for number in kept)),
        )
        self._addresses = [self._addresses[number] for number in kept]

    def result(self) -> FigureResult:
        """Return the median, the limit, and what is beyond it, the worst first."""
        count = self._bins.total()
        middle = _median_of_bins(self._bins)
        deviations: Counter[float] = Counter()
        for place, number in self._bins.items():
            deviations[abs(place - middle)] += number
        spread = _median_of_bins(deviations) * _DEVIATION / _BINS_PER_FACTOR
        median = math.exp(middle / _BINS_PER_FACTOR)
        if count < FEWEST_FIGURES:
            return FigureResult(self.key, count, median, spread * median, None, ())
        far = max(spread * _limit_width(count), math.log1p(self.key.kind.floor))
        limit = median * math.exp(-self._sign * far)
        kept = zip(self._places, self._addresses, self._values, strict=True)
        worse = sorted(
            (WorseNumber(*one) for one in kept if one[-1] * self._sign < limit * self._sign), key=lambda one: one.value * self._sign
        )
        return FigureResult(self.key, count, median, spread * median, limit, tuple(worse))


class FigureSamples:
    """The numbers of all figures."""

    def __init__(self) -> None:
        self._samples: dict[FigureKey, FigureSample] = {}

    def add(self, place: int, measured: Iterable[MeasuredFigure]) -> None:
        """Add the figures of one report."""
        for key, address, value in measured:
            sample = self._samples.get(key)
            if sample is None:
                if len(self._samples) >= _MAX_FIGURES:
                    continue
                sample = self._samples[key] = FigureSample(key)
            sample.add(value, place, sys.intern(address))

    def results(self) -> list[FigureResult]:
        """Return what each figure says."""
        return [sample.result() for sample in self._samples.values()]


def _limit_width(count: int) -> float:
    """Return how many standard deviations from the median the limit is."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM_RATE / count) * (1 + _SMALL_SAMPLE_FACTOR / count)


def _median_of_bins(bins: Mapping[float, int]) -> float:
    """Return the median of what is counted; between two middle ones their mean."""
    total = sum(bins.values())
    lower, upper, seen = None, 0.0, 0
    for place in sorted(bins):
        seen += bins[place]
        if lower is None and 2 * seen >= total:
            lower = place
        if 2 * seen > total:
            upper = place
            break
    return ((lower if lower is not None else upper) + upper) / 2
