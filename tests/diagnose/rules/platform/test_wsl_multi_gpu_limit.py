from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT, bare, machine
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.platform.samples import ON_WSL, WINDOWS

RULE = "wsl-multi-gpu-limit"


def test_two_gpus_under_wsl_are_noted_and_one_is_not() -> None:
    (finding,) = findings_of(RULE, machine(2, host=ON_WSL, wsl=WINDOWS))
    assert finding.message.startswith("2 GPUs in WSL 2 exchange data through host memory")
    assert kinds_of(RULE, machine(1, host=ON_WSL, wsl=WINDOWS)) == [OutcomeKind.PASSED]


def test_other_outcomes() -> None:
    assert kinds_of(RULE, bare(host=ON_WSL, wsl=TIMED_OUT)) == [OutcomeKind.COULD_NOT_TELL]
    assert kinds_of(RULE, machine(2)) == [OutcomeKind.NOT_APPLICABLE]
