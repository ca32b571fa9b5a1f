"""Answers before anything is bought or installed: a machine that is only supposed, through the same diagnosis as a real one."""

from __future__ import annotations

import time

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import Policy
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan.model import Combination
from gpudoctor.plan.suppose import suppose

__all__ = ["Combination", "examine"]


def examine(combination: Combination, policy: Policy, compat: str | None = None) -> Examination:
    """Judge the combination by the shipped tables, or by those in the folder `compat`.

    Raises UsageError, in one sentence, for what cannot be understood or cannot be.
    """
    began = time.monotonic()
    matrix = open_matrix(compat)
    snapshot = suppose(combination, matrix, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    supposed = time.monotonic()
    diagnosis = diagnose(snapshot, matrix, policy)
    return Examination(
        snapshot=snapshot,
        diagnosis=diagnosis,
        policy=policy,
        matrix_date=matrix.date,
        timings=(
            Timing("supposing", supposed - began),
            Timing("diagnosis", time.monotonic() - supposed),
        ),
    )
