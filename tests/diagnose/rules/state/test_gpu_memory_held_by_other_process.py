from __future__ import annotations

import pytest

from gpudoctor.findings import OutcomeKind, Policy, Severity
from gpudoctor.snapshot import GpuProcess, Stage, StageKind, StageState
from tests.builders import TIMED_OUT, in_docker, machine, smoke
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus

RULE = "gpu-memory-held-by-other-process"
GIB = 1 << 30
MEMORY = {"memory_total": 8 * GIB, "memory_used": 7 * GIB, "memory_free": GIB, "compute_processes": (), "graphics_processes": ()}


def test_a_desktop_that_draws_is_no_other_program() -> None:
    drawn = {**MEMORY, "graphics_processes": (GpuProcess(900, memory=6 * GIB + GIB // 2),)}
    assert kinds_of(RULE, with_gpus(drawn)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus(MEMORY)) == [OutcomeKind.FOUND]


def test_a_card_too_small_for_a_training_is_not_held() -> None:
    small = {**MEMORY, "memory_total": 2 * GIB, "memory_used": 100 << 20, "memory_free": GIB}
    assert findings_of(RULE, with_gpus(small)) == []


def test_memory_that_is_held_explains_a_training_that_failed() -> None:
    failed = smoke(1, trainings=(), stages=(Stage(StageKind.TRAINING, StageState.FAILED, device="GPU:0", error="out of memory"),))
    (finding,) = findings_of(RULE, with_gpus(MEMORY, smoke=(failed,)))
    assert finding.severity is Severity.ERROR
    proven = findings_of(RULE, with_gpus(MEMORY, smoke=(smoke(),)))
    assert [one.severity for one in proven] == [Severity.NOTE]


def test_a_process_that_is_known_is_ended() -> None:
    (finding,) = findings_of(RULE, with_gpus({**MEMORY, "compute_processes": (GpuProcess(77, name="python"),)}))
    assert finding.message.endswith("has 1.0 of 8.0 GiB free; 7.0 GiB are used by python (pid 77).")
    assert [fix.command for fix in finding.fixes] == ["sudo kill 77"]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({**MEMORY, "memory_free": 7 * GIB})) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, machine(1)) == [OutcomeKind.NOT_ASKED]
    assert kinds_of(RULE, machine(1, nvml=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]


def test_the_largest_batch_in_the_free_memory_is_named() -> None:
    (finding,) = findings_of(RULE, with_gpus({**MEMORY, "memory_free": 3 * GIB // 2}))
    assert finding.evidence[-1].value == "resnet50 in FP32 with adamw: 2"
    (finding,) = findings_of(
        RULE, with_gpus({**MEMORY, "memory_free": 3 * GIB // 2}), Policy(level=None, require=("fit=lenet,sgd", "gpus==1"))
    )
    assert finding.evidence[-1].value.startswith("lenet in FP32 with sgd: ")


@pytest.mark.parametrize(
    ("pids", "them"),
    [((77,), "python (pid 77) on the host, if it is"), ((77, 78), "python (pid 77), python (pid 78) on the host, if they are")],
)
def test_a_container_cannot_end_processes_of_its_host(pids: tuple[int, ...], them: str) -> None:
    held = {**MEMORY, "compute_processes": tuple(GpuProcess(pid, name="python") for pid in pids)}
    (finding,) = findings_of(RULE, with_gpus(held, container=in_docker()))
    assert [(fix.title, fix.command) for fix in finding.fixes] == [(f"End {them} no longer needed.", "")]


def test_a_process_without_a_number_cannot_be_ended() -> None:
    held = {**MEMORY, "compute_processes": tuple(GpuProcess(pid, name="python") for pid in (0, 1))}
    (finding,) = findings_of(RULE, with_gpus(held))
    assert [fix.command for fix in finding.fixes if "kill" in fix.command] == ["sudo kill 1"]
