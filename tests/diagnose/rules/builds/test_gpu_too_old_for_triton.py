from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.findings import OutcomeKind, Severity
from gpudoctor.snapshot import Fact, Snapshot, Stage, StageKind, StageState
from tests.builders import TIMED_OUT, smoke, torch
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.machines.trained import TOO_OLD_FOR_TRITON

RULE = "gpu-too-old-for-triton"
TORCH = torch(version=Fact("2.4.0+cu121", "x"))
REFUSED = Stage(StageKind.COMPILED_STEP, StageState.FAILED, device="GPU:0", error=TOO_OLD_FOR_TRITON)


def cards(*capabilities: Any, **changes: Any) -> Snapshot:
    """A machine with a GPU of each compute capability, and PyTorch 2.4."""
    gpus = ({"name": f"GPU of {capability}", "compute_capability": capability} for capability in capabilities)
    return with_gpus(*gpus, **({"frameworks": (TORCH,)} | changes))


def test_an_unknown_capability_is_no_pass() -> None:
    assert kinds_of(RULE, cards(TIMED_OUT, frameworks=(torch(),))) == [OutcomeKind.COULD_NOT_TELL]
    assert len(findings_of(RULE, cards("6.1", TIMED_OUT))) == 1


@pytest.mark.parametrize(
    ("release", "capability", "times"), [("2.4.0+cu121", "6.1", 1), ("2.4.0+cu121", "7.0", 0), ("1.13.1+cu117", "6.1", 0)]
)
def test_torch_compile_needs_volta_or_newer(release: str, capability: str, times: int) -> None:
    assert len(findings_of(RULE, cards(capability, frameworks=(torch(version=Fact(release, "x")),)))) == times


def test_a_gpu_that_the_build_lacks_kernels_for_is_another_rules_matter() -> None:
    build = torch(version=Fact("2.8.0+cu128", "x"), built_with_cuda=Fact("12.8", "x"))
    assert not findings_of(RULE, cards("6.1", frameworks=(build,)))


def test_models_are_named_once() -> None:
    (finding,) = findings_of(RULE, cards("6.1", "6.1"))
    assert finding.title == "torch.compile does not support GPU of 6.1"
    assert "2 x GPU of 6.1" in finding.message
    assert len(finding.evidence) == 1


@pytest.mark.parametrize(
    ("stages", "severity", "folded"),
    [
        ((REFUSED,), Severity.WARNING, 1),
        ((), Severity.NOTE, 0),
        ((REFUSED, Stage(StageKind.COPIES, StageState.FAILED, device="GPU:1", error="something else")), Severity.NOTE, 0),
    ],
)
def test_it_explains_a_compiled_step_that_failed_so_and_nothing_else(stages: tuple[Stage, ...], severity: Severity, folded: int) -> None:
    snapshot = cards("6.1", smoke=(smoke(1, framework="torch", stages=stages),))
    (finding,) = findings_of(RULE, snapshot)
    assert finding.severity is severity
    assert sum(bool(one.because_of) for one in findings_of("smoke-crashed", snapshot)) == folded
