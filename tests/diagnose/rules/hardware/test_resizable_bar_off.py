from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Bar1
from tests.builders import TIMED_OUT, in_docker, machine
from tests.diagnose.rules.asking import UNSUPPORTED, findings_of, kinds_of, with_gpus
from tests.diagnose.rules.hardware.samples import GIB

RULE = "resizable-bar-off"
SMALL = {"bar1": Bar1(256 << 20, 0), "memory_total": 24 * GIB}


@pytest.mark.parametrize(("size", "memory", "is_found"), [(256 << 20, 24, True), (256 << 20, 4, False), (32 * GIB, 24, False)])
def test_a_small_bar_of_a_large_card(size: int, memory: int, is_found: bool) -> None:
    assert bool(findings_of(RULE, with_gpus({"bar1": Bar1(size, 0), "memory_total": memory * GIB}))) is is_found


def test_in_a_container_the_host_enables_it() -> None:
    (finding,) = findings_of(RULE, with_gpus(SMALL, container=in_docker()))
    assert "host" in finding.fixes[0].title


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({**SMALL, "mig_enabled": True})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus({**SMALL, "bar1": UNSUPPORTED})) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
