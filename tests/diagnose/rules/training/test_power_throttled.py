from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import Held, HeldBack
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import MATRIX, UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.training.samples import SECOND, stage, trained, watched

RULE = "power-throttled"
LIMITED = {"clocks_event_reasons": 4, "power_limit": 60_000, "power_limit_default": 140_000}


def test_the_power_limit_at_full_load_is_normal() -> None:
    diagnosis = diagnose(trained(watched()), MATRIX, Policy(level=None))
    assert not diagnosis.findings
    kinds = {outcome.name: outcome.kind for outcome in diagnosis.outcomes}
    checked = (RULE, "thermal-throttled", "hw-slowdown", "pcie-link-degraded", "smoke-ran-on-cpu")
    assert {kinds[name] for name in checked} == {OutcomeKind.PASSED}


def test_time_at_the_power_limit_is_normal() -> None:
    past = HeldBack(power=10**15, low_utilization=10**15, reliability=10**15)
    worked = with_gpus({"clocks_event_reasons": 1, "held_back": past, "held_back_later": HeldBack(power=2 * 10**15)})
    assert not diagnose(worked, MATRIX, Policy(level=None)).findings


def test_a_lowered_limit_is_a_warning_if_it_limited_the_gpu() -> None:
    (finding,) = findings_of(RULE, with_gpus(LIMITED))
    assert (finding.severity, "limits the clocks now" in finding.message) == (Severity.WARNING, True)
    (idle,) = findings_of(RULE, with_gpus({**LIMITED, "clocks_event_reasons": 1}))
    assert (idle.severity, "is 60 W (default 140 W)." in idle.message) == (Severity.NOTE, True)


def test_a_container_leaves_the_limit_to_its_host() -> None:
    (finding,) = findings_of(RULE, with_gpus(LIMITED, container=in_docker()))
    assert [fix.command for fix in finding.fixes] == [""]


def test_a_laptops_limit_is_ignored() -> None:
    assert findings_of(RULE, with_gpus({**LIMITED, "name": "NVIDIA GeForce RTX 4090 Laptop GPU"})) == []


def test_one_sample_of_a_brake_is_reported_with_its_share() -> None:
    (finding,) = findings_of(RULE, trained(watched(stage(held=(Held(0x4, 38), Held(0x84, 2))))))
    assert "in 2 of 40 samples" in finding.message
    assert finding.severity is Severity.WARNING


def test_a_brake_that_is_on_is_one_problem() -> None:
    counted = {"held_back": HeldBack(power_brake=SECOND), "held_back_later": HeldBack(power_brake=2 * SECOND)}
    assert len(findings_of(RULE, with_gpus({"clocks_event_reasons": 0x88, **counted}))) == 1


@pytest.mark.parametrize("counter", ["power_brake", "board_limit"])
@pytest.mark.parametrize(("later", "severity"), [(SECOND, Severity.NOTE), (2 * SECOND, Severity.WARNING)])
def test_past_throttling_is_a_note(counter: str, later: int, severity: Severity) -> None:
    held = {"clocks_event_reasons": 1, "held_back": HeldBack(**{counter: SECOND}), "held_back_later": HeldBack(**{counter: later})}
    assert [finding.severity for finding in findings_of(RULE, with_gpus(held))] == [severity]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"clocks_event_reasons": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
