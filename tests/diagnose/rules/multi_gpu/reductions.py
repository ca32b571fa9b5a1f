"""A framework that ran all-reduce across two GPUs, for tests of single rules."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import AllReduce, Snapshot, Stage, StageKind, StageState
from tests.builders import smoke
from tests.machines.store import recorded
from tests.machines.summed import HUNG

HUNG_WITHOUT = msgspec.structs.replace(HUNG, p2p=False)
BROKEN_IMPORT = AllReduce(("GPU:0", "GPU:1"), p2p=True, stages=(Stage(StageKind.IMPORT, StageState.FAILED, error="no such module"),))


def summed(*runs: AllReduce, base: str = "translated-transfers", **changes: Any) -> Snapshot:
    one = msgspec.structs.replace(smoke(2), all_reduces=runs)
    return msgspec.structs.replace(recorded(base), smoke=(one,), **changes)


def checked(snapshot: Snapshot, matrix: Matrix) -> tuple[dict[str, Any], dict[str, Any]]:
    """Findings and outcomes of the two rules, by code."""
    whole: Diagnosis = diagnose(snapshot, matrix, Policy())
    codes = ("GD804", "GD807")
    return (
        {finding.code: finding for finding in whole.findings if finding.code in codes},
        {outcome.code: outcome for outcome in whole.outcomes if outcome.code in codes},
    )
