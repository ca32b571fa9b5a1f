"""What NVML says about a rate that is too low, in the finding of the slow GPU."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import Finding
from gpudoctor.snapshot import Product, Snapshot, Span, StageKind
from tests.builders import TIMED_OUT, address
from tests.diagnose.rules.asking import findings_of, with_gpus
from tests.diagnose.rules.training.samples import measured, stage, trained, watched

SLOW = (Product("GPU:0", "fp16", 8192, 50e12, 0.0, 5e-4, address=address(0)),)
LOW_CLOCK = Span(690, 705, 720)


def only(snapshot: Snapshot) -> Finding:
    """The finding of the slow GPU."""
    (finding,) = findings_of("gpu-slower-than-expected", snapshot)
    return finding


def rows(finding: Finding) -> dict[str, str]:
    """The evidence from NVML, by what it is."""
    return {row.what: row.value for row in finding.evidence if row.where.startswith("NVML")}


def sampled(**changes: Any) -> Snapshot:
    """A slow A100 that was sampled in its matmuls."""
    return trained(watched(stage(StageKind.PRODUCTS, **changes)), products=SLOW)


def test_without_samples_the_values_before_training_are_shown() -> None:
    facts = {"clock_sm_max": 1410, "clock_memory_max": 1593, "power_limit": 1_000_000, "temperature": 41, "link_width": 16}
    whole = with_gpus(facts, smoke=measured(0.1).smoke)
    assert rows(only(whole)) == {
        "highest SM clock": "1410 MHz",
        "highest memory clock": "1593 MHz",
        "power limit": "1000 W",
        "temperature": "41 °C",
        "PCIe lanes": "16",
    }
    unread = with_gpus(
        facts | {"power_limit": TIMED_OUT, "temperature": TIMED_OUT, "clock_memory_max": TIMED_OUT}, smoke=measured(0.1).smoke
    )
    assert rows(only(unread)) == {"highest SM clock": "1410 MHz", "PCIe lanes": "16"}


def test_samples_take_the_place_of_the_values_before_training() -> None:
    finding = only(sampled(clock_sm=LOW_CLOCK, clock_memory=Span(1200, 1590, 1593), power=398_600, power_limit=1_000_000))
    assert rows(finding) == {
        "SM clock": "690 to 720 MHz, median 705, maximum 1,410 MHz",
        "memory clock": "1,200 to 1,593 MHz, median 1,590",
        "clocks limited by": "the power limit in 20 of 20 samples",
        "highest power": "399 of 1000 W",
        "highest temperature": "70 °C",
    }
    assert {row.where for row in finding.evidence if row.where.startswith("NVML")} == {"NVML, 20 samples during matmul"}


def test_what_was_not_sampled_is_left_out() -> None:
    unread = rows(only(sampled(clock_sm=TIMED_OUT, held=TIMED_OUT, power=TIMED_OUT)))
    assert unread == {"highest temperature": "70 °C"}
    assert "highest temperature" not in rows(only(sampled(temperature=TIMED_OUT)))
    assert rows(only(sampled(power_limit=TIMED_OUT)))["highest power"] == "398 W"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"clock_sm": LOW_CLOCK}, " SM clock 705 of 1,410 MHz, limited by the power limit in 20 of 20 samples."),
        ({"clock_sm": LOW_CLOCK, "held": ()}, " SM clock 705 of 1,410 MHz, no reason reported."),
        ({"clock_sm": LOW_CLOCK, "held": TIMED_OUT}, " SM clock 705 of 1,410 MHz, reason unknown."),
        ({"clock_sm": TIMED_OUT}, ""),
        ({"clock_sm": Span(1395, 1400, 1410)}, ""),
    ],
)
def test_a_low_clock_explains_a_low_rate(changes: dict[str, Any], sentence: str) -> None:
    assert only(sampled(**changes)).message.partition("of the published 312.0.")[2] == sentence
