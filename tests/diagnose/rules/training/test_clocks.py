"""What is advised for what NVML says limited a GPU's clocks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudoctor.findings import Fix, FixKind
from gpudoctor.snapshot import Held, Snapshot, Span
from tests.builders import address, in_docker
from tests.diagnose.rules.asking import findings_of
from tests.diagnose.rules.training.samples import SAMPLES, stage, trained, watched

RESET, LIMIT, COOL, MORE = "Reset application clocks", "Restore the default power limit", "Clean fans", "Give the machine more power"
DELIVERY, CABLES, IF_SET = (
    "Check how the GPU gets its power",
    "Reseat the GPU's power cables",
    "If application clocks or locked clocks were set",
)


def behind(reasons: int, card: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    """Two GPUs; the second ran at half the first one's clock for these reasons."""
    slow = stage(clock_sm=Span(700, 700, 700), held=(Held(reasons, SAMPLES),), **changes)
    return trained(watched(), watched(slow, number=1), gpus=2, **(card or {}))


def in_container(snapshot: Snapshot) -> Snapshot:
    return msgspec.structs.replace(snapshot, container=in_docker())


def steps(snapshot: Snapshot) -> list[Fix]:
    (finding,) = (one for one in findings_of("gpu-behind-its-siblings", snapshot) if one.subject.key == address(1))
    return [fix for fix in finding.fixes if fix.kind is FixKind.FIX]


@pytest.mark.parametrize(
    ("reasons", "changes", "card", "titles"),
    [
        (0x2, {}, {}, [RESET]),
        (0x4, {"power": 140_000}, {}, [DELIVERY]),
        (0x4, {"power": 398_000}, {}, [IF_SET]),
        (0x4, {"power": 250_000, "power_limit": 250_000}, {}, [LIMIT]),
        (0x4, {"power": 250_000}, {"power_limit": 250_000}, [LIMIT]),
        (0x4, {"power": 140_000, "power_limit": 250_000}, {"power_limit_default": 0}, [DELIVERY]),
        (0x8, {}, {}, [CABLES]),
        (0x20, {}, {}, [COOL]),
        (0x48, {}, {}, [COOL]),
        (0x88, {}, {}, [MORE]),
        (0x22, {}, {}, [RESET, COOL]),
        (0x0, {}, {}, [IF_SET]),
        (0x100, {}, {}, [IF_SET]),
    ],
)
def test_what_is_advised_is_against_the_reason_observed(reasons: int, changes: Any, card: Any, titles: list[str]) -> None:
    found = steps(behind(reasons, card, **changes))
    assert len(found) == len(titles)
    assert all(fix.title.startswith(title) for fix, title in zip(found, titles, strict=True))


def test_a_container_leaves_clocks_and_limits_to_its_host() -> None:
    for reasons, limit in ((0x2, 400_000), (0x4, 250_000)):
        (fix,) = steps(in_container(behind(reasons, power_limit=limit)))
        assert fix.title.startswith("Ask the host's administrator")
