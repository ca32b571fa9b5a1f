from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Cause, Heat, Held, HeldBack, Missing, Snapshot
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.training.samples import SECOND, stage, trained, watched

RULE = "thermal-throttled"


def idle(**facts: object) -> Snapshot:
    return with_gpus({"clocks_event_reasons": 1, **facts})


def severities(snapshot: Snapshot) -> list[Severity]:
    return [finding.severity for finding in findings_of(RULE, snapshot)]


@pytest.mark.parametrize(("degrees", "expected"), [
    (88, []), (89, [Severity.WARNING]), (91, [Severity.WARNING]), (92, [Severity.ERROR]),
])  # fmt: skip
def test_a_temperature_at_its_limit(degrees: int, expected: list[Severity]) -> None:
    assert severities(idle(temperature=degrees, temperature_slowdown=89, temperature_shutdown=92)) == expected


@pytest.mark.parametrize(("margin", "expected"), [(-1, []), (-2, [Severity.WARNING]), (-8, [Severity.ERROR])])
def test_a_margin_that_is_used_up(margin: int, expected: list[Severity]) -> None:
    assert severities(idle(heat=Heat(margin=margin, slowdown_tlimit=-2, shutdown_tlimit=-8))) == expected


@pytest.mark.parametrize("more", [
    {"held_back": HeldBack(thermal=0), "held_back_later": HeldBack(thermal=50 * 10**6)}, {"temperature": 90, "temperature_slowdown": 89},
])  # fmt: skip
def test_a_slowdown_by_heat_is_told_once(more: dict[str, object]) -> None:
    assert len(findings_of(RULE, idle(**more))) == 1
    (finding,) = findings_of(RULE, idle(**{**more, "clocks_event_reasons": 0x20}))
    assert "thermally throttled by the driver" in finding.message
    assert not [one for one in ("right now", "reached") if one in finding.message]


def test_memory_has_a_limit_of_its_own() -> None:
    assert findings_of(RULE, idle(temperature=40, heat=Heat(memory=94, memory_limit=95))) == []
    (finding,) = findings_of(RULE, idle(temperature=40, heat=Heat(memory=95, memory_limit=95)))
    assert "hot memory: 95 °C" in finding.message


def test_a_limit_of_zero_is_ignored() -> None:
    cool = idle(temperature=33, temperature_slowdown=0, temperature_shutdown=0, heat=Heat(memory=0, memory_limit=0))
    assert kinds_of(RULE, cool) == [OutcomeKind.PASSED]


def test_heat_is_found_where_the_driver_gives_no_reasons() -> None:
    assert findings_of(RULE, idle(temperature=95, temperature_slowdown=89, clocks_event_reasons=UNSUPPORTED))
    assert kinds_of(RULE, idle(temperature=40, clocks_event_reasons=UNSUPPORTED)) == [OutcomeKind.NOT_APPLICABLE]


def test_a_slowdown_is_reported_once() -> None:
    (finding,) = findings_of(RULE, idle(temperature=90, temperature_slowdown=89, clocks_event_reasons=0x48))
    assert "slowdown limit" not in finding.message


@pytest.mark.parametrize("reasons", [0x20, 0x40])
def test_one_sample_of_a_slowdown_is_reported_with_its_share(reasons: int) -> None:
    (finding,) = findings_of(RULE, trained(watched(stage(held=(Held(0x4, 38), Held(0x4 | reasons, 2))))))
    assert "at up to 70 °C in 2 of 40 samples" in finding.message
    assert finding.severity is Severity.WARNING


def test_reasons_that_nvml_did_not_give_before_are_known_from_training() -> None:
    unknown = Missing(Cause.FAILED, "no answer")
    assert findings_of(RULE, trained(watched(stage(held=(Held(0x40, 1),))), clocks_event_reasons=unknown))
    assert kinds_of(RULE, trained(watched(), clocks_event_reasons=unknown)) == [OutcomeKind.PASSED]


@pytest.mark.parametrize(("first", "later", "expected"), [
    (0, 0, []), (SECOND - 1, SECOND - 1, []), (SECOND, SECOND, [Severity.NOTE]), (0, 1000, [Severity.WARNING]), (5 * SECOND, 0, [Severity.NOTE]),
])  # fmt: skip
def test_time_lost_to_heat_in_the_past_is_a_note(first: int, later: int, expected: list[Severity]) -> None:
    assert severities(idle(held_back=HeldBack(thermal=first), held_back_later=HeldBack(thermal=later))) == expected


def test_the_counters_of_newer_drivers_are_read_too() -> None:
    (finding,) = findings_of(RULE, idle(held_back=HeldBack(thermal=UNSUPPORTED, thermal_by_hardware=7300 * SECOND)))
    assert "for 2.0 h" in finding.message


def test_every_gpu_has_its_own_answer() -> None:
    hot = with_gpus({"clocks_event_reasons": 0}, {"clocks_event_reasons": 0x20}, {"clocks_event_reasons": TIMED_OUT})
    assert kinds_of(RULE, hot) == [OutcomeKind.PASSED, OutcomeKind.FOUND, OutcomeKind.COULD_NOT_TELL]


def test_it_cannot_tell_without_nvml() -> None:
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]


@pytest.mark.parametrize(("degrees", "times"), [(84, 0), (85, 1)])
def test_the_limit_of_drivers_that_name_no_slowdown_temperature(degrees: int, times: int) -> None:
    hot = idle(temperature=degrees, temperature_slowdown=UNSUPPORTED, temperature_shutdown=UNSUPPORTED, heat=Heat(gpu_limit=85))
    said = [finding.message.endswith("reached 85 °C (maximum operating temperature 85 °C).") for finding in findings_of(RULE, hot)]
    assert said == [True] * times


@pytest.mark.parametrize(("limits", "lowered"), [
    ({"power_limit_default": 450_000, "power_limit_min": 150_000}, [360]),
    ({"power_limit_default": 70_000, "power_limit_min": 60_000}, [60]),  # a Tesla T4
    ({"power_limit_default": 70_000, "power_limit_min": 70_000}, []),
])  # fmt: skip
def test_the_power_limit_is_lowered_no_further_than_the_gpu_allows(limits: dict[str, object], lowered: list[int]) -> None:
    (finding,) = findings_of(RULE, idle(temperature=90, temperature_slowdown=89, **limits))
    assert [int(fix.command.rpartition(" ")[2]) for fix in finding.fixes if " -pl " in fix.command] == lowered


def test_a_container_cannot_set_the_power_limit() -> None:
    hot = with_gpus({"temperature": 90, "temperature_slowdown": 89, "power_limit_default": 450_000}, container=in_docker())
    (finding,) = findings_of(RULE, hot)
    assert not [fix for fix in finding.fixes if " -pl " in fix.command]
