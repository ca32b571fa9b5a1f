"""Registers the seams for all tests."""

from __future__ import annotations

pytest_plugins = ("tests.seams.fixtures", "tests.seams.skips")
