from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind
from gpudoctor.snapshot import Snapshot, Speed
from tests.builders import TIMED_OUT, address, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of

RULE = "gpu-not-faster-than-cpu"


def compared(gpu: float | str, cpu: float | str) -> Snapshot:
    speed = Speed("GPU:0", "convolutional", 1024, gpu, cpu, address=address(0))  # type: ignore[arg-type]
    return machine(1, smoke=(smoke(speeds=(speed,)),))


@pytest.mark.parametrize(("gpu", "cpu", "times"), [(10.0, 10.0, 1), (10.1, 10.0, 0), ("nan", 10.0, 0)])
def test_a_gpu_must_be_faster_than_the_cpu(gpu: float | str, cpu: float, times: int) -> None:
    assert len(findings_of(RULE, compared(gpu, cpu))) == times


def test_both_speeds_are_named() -> None:
    (finding,) = findings_of(RULE, compared(900.0, 1200.0))
    assert "trains 900 images/s on the GPU and 1,200 images/s on the CPU" in finding.message


def test_other_outcomes() -> None:
    assert kinds_of(RULE, machine(1, smoke=(smoke(),))) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, smoke=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
