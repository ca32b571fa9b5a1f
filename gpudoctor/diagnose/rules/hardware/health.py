"""GD1: what the GPU says of its own health: memory errors, spare rows, firmware store, power, reset."""

from __future__ import annotations

_INSUFFICIENT_POWER, _CORRUPT_INFOROM, _RESET_REQUIRED = 8, 14, 16
