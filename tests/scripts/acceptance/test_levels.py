"""What gpu_acceptance expects: ready on every GPU; without a framework unknown, for that reason alone."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.acceptance import levels

TORCH = [{"name": "torch"}]
NOT_ASKED = {"type": "missing", "cause": "not-asked", "reason": ""}
CRASHED = {"type": "missing", "cause": "failed", "reason": "it crashed"}


def document(frameworks: object, verdict: str, because: str = "", *, gpus: int = 2) -> dict[str, Any]:
    proved = {"rung": "libcuda", "gpus": gpus, "of": 2}
    return {"verdict": verdict, "because": because, "snapshot": {"frameworks": frameworks}, "proved_to": proved}


@pytest.mark.parametrize(
    ("report", "what", "holds"),
    [
        (document(TORCH, "ready"), "ready", True),
        (document(TORCH, "degraded"), "ready", True),
        (document(TORCH, "ready", gpus=1), "ready", False),
        (document(TORCH, "unknown", "torch 9.0 was not checked: no table lists this release"), "ready", False),
        (document([], "unknown", levels.NONE_INSTALLED), "unknown without a framework", True),
        (document([], "unknown", levels.NONE_INSTALLED, gpus=1), "unknown without a framework", False),
        (document([], "unknown", f"{levels.NONE_INSTALLED}; not shown on 1 GPU: NVML: lost"), "unknown without a framework", False),
        (document([], "ready"), "unknown without a framework", False),
        (document(NOT_ASKED, "ready"), "ready", True),
        (document(NOT_ASKED, "unknown", levels.NONE_INSTALLED), "ready", False),
        (document(CRASHED, "unknown", levels.NONE_INSTALLED), "ready", False),
    ],
)
def test_only_an_environment_without_a_framework_may_be_unknown(report: dict[str, Any], what: str, holds: bool) -> None:
    assert levels.judged(report, "libcuda") == (f"{what}, on every GPU", holds)
