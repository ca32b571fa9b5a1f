"""Numbers in sentences, with few digits."""

from __future__ import annotations


def short_number(value: float, count: int = 3) -> str:
    """Return a number with so many digits, a large one whole: 3.35, 1,234. Python alone writes 1e+03 from 999.5 on."""
    return f"{value:,.0f}" if abs(value) >= 10**count - 0.5 else f"{value:.{count}g}"
