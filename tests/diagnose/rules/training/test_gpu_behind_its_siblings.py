from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Held, Span
from tests.builders import address
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.training.samples import stage, trained, watched

RULE = "gpu-behind-its-siblings"


def test_the_lower_power_of_two_gpus_is_behind() -> None:
    (finding,) = findings_of(RULE, trained(watched(), watched(stage(power=140_000), number=1), gpus=2))
    assert finding.subject.key == address(1)
    assert "drew 140 W, its siblings 398 W, under" in finding.message


def test_a_gpu_that_draws_far_more_than_its_siblings_is_found() -> None:
    quiet = [watched(stage(power=200_000), number=number) for number in range(2)]
    (finding,) = findings_of(RULE, trained(*quiet, watched(stage(power=398_000), number=2), gpus=3))
    assert finding.subject.key == address(2)


@pytest.mark.parametrize(("mhz", "is_found"), [(1200, False), (1100, True)])
def test_a_clock_within_a_few_percent_of_the_others_is_not_behind(mhz: int, is_found: bool) -> None:
    loads = [watched(number=number) for number in range(3)]
    snapshot = trained(*loads, watched(stage(clock_sm=Span(mhz, mhz, mhz)), number=3), gpus=4)
    assert [finding.subject.key for finding in findings_of(RULE, snapshot)] == [address(3)] * is_found


def test_what_limited_the_clocks_is_named() -> None:
    slow = stage(clock_sm=Span(700, 700, 700), held=(Held(0x20, 20),))
    (finding,) = findings_of(RULE, trained(watched(), watched(slow, number=1), gpus=2))
    assert finding.message.endswith("under the same load, limited by heat in 20 of 20 samples.")


def test_gpus_without_siblings_under_load_are_not_compared() -> None:
    assert set(kinds_of(RULE, trained(watched(), gpus=2))) == {OutcomeKind.NOT_ASKED}


@pytest.mark.parametrize(("own", "others", "compared"), [(3, 3, True), (2, 3, False), (3, 2, False)])
def test_three_samples_are_enough_for_a_comparison(own: int, others: int, compared: bool) -> None:
    fast, slow = (
        msgspec.structs.replace(stage(clock_sm=Span(mhz, mhz, mhz)), samples=count) for mhz, count in ((1400, others), (700, own))
    )
    snapshot = trained(watched(fast), watched(slow, number=1), gpus=2)
    assert [finding.subject.key for finding in findings_of(RULE, snapshot)] == [address(1)] * compared
    assert (OutcomeKind.NOT_ASKED in kinds_of(RULE, snapshot)) is not compared


@pytest.mark.parametrize(
    ("watts", "siblings", "is_found"),
    [(246, 1, False), (245, 1, True), (600, 1, False), (246, 2, False), (245, 2, True), (651, 2, False), (652, 2, True)],
)
def test_power_that_differs_more_than_the_clock_may(watts: int, siblings: int, is_found: bool) -> None:
    loads = [watched(stage(power=400_000), number=number) for number in range(siblings)]
    snapshot = trained(*loads, watched(stage(power=watts * 1000), number=siblings), gpus=siblings + 1)
    found = [finding.message for finding in findings_of(RULE, snapshot) if finding.subject.key == address(siblings)]
    assert [f"drew {watts} W, its siblings 400 W," in message for message in found] == [True] * is_found
