"""Measured figures in words."""

from __future__ import annotations

from gpudoctor.digits import short_number

_UNIT_PREFIXES = {
    "FLOP/s": (("T", 1e12), ("G", 1e9)),
    "B/s": (("T", 1e12), ("G", 1e9), ("M", 1e6)),
    "s": (("", 1.0), ("m", 1e-3)),
}
"""The prefixes of a unit, the largest first; smaller figures take the last."""


def amount_text(value: float, unit: str) -> str:
    """Return a figure with three digits and its unit: 255 TFLOP/s, 1,410 MHz."""
    steps = _UNIT_PREFIXES.get(unit, (("", 1.0),))
    prefix, size = next((step for step in steps if value >= step[1]), steps[-1])
    return f"{short_number(value / size)} {prefix}{unit}"
