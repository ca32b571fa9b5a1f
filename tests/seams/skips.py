"""Which tests may be skipped; in CI every other skip counts as a failure."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

#: how accepted reasons begin in CI
KNOWN = (
    "needs a GPU",
    "needs root",
    "needs ptxas",
    "needs nvcc",
    "needs a control group",
    "needs a CUDA build of PyTorch",
    "needs Python 2.7",
    "needs Python 3.5 or 3.6",
    "CI runs the short torture",
)


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not Path("/proc/driver/nvidia/version").exists():
        pytest.skip("needs a GPU")


def _known_or_failed(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail") or not in_ci():
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not reason.removeprefix("Skipped: ").startswith(KNOWN):
        report.outcome = "failed"
        report.longrepr = f"CI knows no such skip: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _known_or_failed(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _known_or_failed(report)
    return report
