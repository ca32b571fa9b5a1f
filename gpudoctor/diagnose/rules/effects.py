"""Consequences that many causes share."""

from __future__ import annotations

TRAINING_FAILS = ("smoke-ran-on-cpu", "smoke-crashed", "smoke-hung")
"""The training run uses the CPU, fails or hangs."""
