from __future__ import annotations

from gpudoctor.findings import OutcomeKind
from tests.builders import TIMED_OUT
from tests.diagnose.rules.asking import findings_of, kinds_of, with_gpus
from tests.diagnose.rules.platform.samples import ON_WSL, WINDOWS, change

RULE = "wsl-pinned-memory-limit"
GIB = 1 << 30


def test_less_memory_than_the_gpu() -> None:
    (finding,) = findings_of(RULE, with_gpus({"memory_total": 24 * GIB}, host=ON_WSL, wsl=WINDOWS))
    assert finding.message == "WSL has 16.0 GiB of memory and its GPU 24.0 GiB, so pinned memory is scarce."


def test_other_outcomes() -> None:
    assert kinds_of(RULE, with_gpus({"memory_total": 8 * GIB}, host=ON_WSL, wsl=WINDOWS)) == [OutcomeKind.PASSED]
    assert kinds_of(RULE, with_gpus({}, host=ON_WSL, wsl=WINDOWS)) == [OutcomeKind.NOT_APPLICABLE]
    assert kinds_of(RULE, with_gpus({}, host=ON_WSL, wsl=change(WINDOWS, memory=TIMED_OUT))) == [OutcomeKind.COULD_NOT_TELL]
