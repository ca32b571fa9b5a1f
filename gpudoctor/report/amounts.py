"""Measured figures in words."""

from __future__ import annotations

_STEPS = {"FLOP/s": (("T", 1e12), ("G", 1e9)), "B/s": (("T", 1e12), ("G", 1e9), ("M", 1e6))}


def amount(value: float, unit: str) -> str:
    """Return a figure with three digits and its unit: 255 TFLOP/s, 1,410 MHz."""
    prefix, size = next(((prefix, size) for prefix, size in _STEPS.get(unit, ()) if value >= size), ("", 1))
    return f"{value / size:,.0f} {prefix}{unit}" if value / size >= 1000 else f"{value / size:.3g} {prefix}{unit}"
