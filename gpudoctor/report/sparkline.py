"""A curve in one line of text: eight heights of block, or eight ASCII signs of growing weight where only ASCII can be written."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpudoctor.snapshot import Real

BLOCK_SIGNS = "▁▂▃▄▅▆▇█"
ASCII_SIGNS = ".:-=+*#@"
_NOT_FINITE = {False: "×", True: "x"}  # noqa: RUF001 -- a cross, not the letter


def sparkline(values: Sequence[Real], *, width: int, plain: bool) -> str:
    """`values` from left to right in at most `width` signs, the highest of them highest; a cross for a number that is not finite.

    Losses fall by orders of magnitude, so heights are logarithms where every value is positive.
    """
    taken = thinned_values(values, width)
    numbers = [value for value in taken if isinstance(value, int | float) and math.isfinite(value)]
    scale = math.log if numbers and min(numbers) > 0 else float
    heights = [scale(number) for number in numbers]
    lowest, highest = min(heights, default=0.0), max(heights, default=0.0)
    signs = ASCII_SIGNS if plain else BLOCK_SIGNS

    def sign(value: Real) -> str:
        if not isinstance(value, int | float) or not math.isfinite(value):
            return _NOT_FINITE[plain]
        # halves: the difference of two doubles may be more than a double holds
        share = (scale(value) / 2 - lowest / 2) / (highest / 2 - lowest / 2) if highest / 2 > lowest / 2 else 0.0
        return signs[min(int(share * len(signs)), len(signs) - 1)]

    return "".join(map(sign, taken))


def thinned_values(values: Sequence[Real], width: int) -> list[Real]:
    """Return at most `width` of the values, evenly spread, the first and the last among them."""
    if len(values) <= width:
        return list(values)
    if width < 2:
        return list(values[-1:])
    return [values[round(place * (len(values) - 1) / (width - 1))] for place in range(width)]
