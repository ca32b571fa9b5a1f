"""Diagnoses a combination of GPU, driver and packages before anything is bought or installed."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import Policy, Verdict
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan.any_python import saying_pythons
from gpudoctor.plan.asked import combined
from gpudoctor.plan.model import Combination
from gpudoctor.plan.spelt import respelt
from gpudoctor.plan.suppose import suppose

if TYPE_CHECKING:
    from gpudoctor.requirement_files.model import Requested

__all__ = ["Combination", "examine"]


def examine(
    combination: Combination, policy: Policy, compat: str | None = None, asked: Requested | None = None, *, fixes: bool = False
) -> Examination:
    """Check the combination, with what files of requirements ask for, against the shipped tables or those in the folder `compat`.

    With `fixes` each fix that installs something is checked too.
    Raises UsageError for options that cannot be understood or contradict one another.
    """
    began = time.monotonic()
    matrix = _shipped() if compat is None else open_matrix(compat)
    combination = respelt(combination)
    if asked is not None:
        combination = combined(combination, asked, matrix)
    snapshot = saying_pythons(suppose(combination, matrix, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())), matrix)
    supposed = time.monotonic()
    diagnosis = diagnose(snapshot, matrix, policy)
    if fixes and diagnosis.verdict is not Verdict.READY:
        from gpudoctor.plan.cured import cured  # noqa: PLC0415 -- the planner, which a combination in order does not need

        diagnosis = cured(diagnosis, combination, matrix, policy)
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


_shipped = functools.cache(open_matrix)
"""The shipped tables, which an agent asks again and again in one process."""
