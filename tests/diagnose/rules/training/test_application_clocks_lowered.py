from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import ApplicationClocks
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus

RULE = "application-clocks-lowered"


@pytest.mark.parametrize(("mhz", "is_found"), [(1410, False), (1270, False), (1268, True), (705, True)])
def test_clocks_are_compared_with_their_default(mhz: int, is_found: bool) -> None:
    clocks = ApplicationClocks(sm=mhz, sm_default=1410, memory=1593, memory_default=1593)
    assert bool(findings_of(RULE, with_gpus({"application_clocks": clocks}))) is is_found


def test_a_low_default_is_no_fault() -> None:
    t4 = ApplicationClocks(sm=585, sm_default=585, memory=5001, memory_default=5001)
    assert kinds_of(RULE, with_gpus({"application_clocks": t4, "clock_sm_max": 1590})) == [OutcomeKind.PASSED]


def test_the_memory_clock_alone_is_found_and_in_a_container_the_host_resets_it() -> None:
    clocks = ApplicationClocks(sm=TIMED_OUT, sm_default=TIMED_OUT, memory=405, memory_default=5001)
    (finding,) = findings_of(RULE, with_gpus({"application_clocks": clocks}, container=in_docker()))
    assert "memory 405 MHz, 8% of 5,001 MHz" in finding.message
    assert finding.fixes[0].command == ""


def test_other_outcomes() -> None:
    half = ApplicationClocks(sm=TIMED_OUT, sm_default=1410, memory=1593, memory_default=1593)
    assert kinds_of(RULE, with_gpus({"application_clocks": half})) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, with_gpus({"application_clocks": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
