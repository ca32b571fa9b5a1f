"""Registers the seams for all tests."""

from __future__ import annotations

import os

# Threads that wait by spinning take the cores from other tests: NumPy's, before its import, and PyTorch's in every child.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest_plugins = ("tests.seams.fixtures", "tests.seams.skips")
