"""Diagnoses a combination of GPU, driver and packages before anything is bought or installed."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from gpudoctor.diagnose import diagnose
from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import Policy, Verdict
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan.assumed_snapshot import snapshot_of_combination
from gpudoctor.plan.file_combination import combination_with_files
from gpudoctor.plan.model import Combination
from gpudoctor.plan.spellings import normalised_combination
from gpudoctor.plan.usable_pythons import with_stated_pythons

if TYPE_CHECKING:
    from gpudoctor.requirement_files.model import RequestedPackages

__all__ = ["Combination", "check_combination"]


def check_combination(
    combination: Combination, policy: Policy, compat: str | None = None, asked: RequestedPackages | None = None, *, fixes: bool = False
) -> Examination:
    """Check the combination, with what files of requirements ask for, against the shipped tables or those in the folder `compat`.

    With `fixes` each fix that installs something is checked too.
    Raises UsageError for options that cannot be understood or contradict one another.
    """
    began = time.monotonic()
    matrix = _shipped_matrix() if compat is None else open_matrix(compat)
    combination = normalised_combination(combination)
    if asked is not None:
        combination = combination_with_files(combination, asked, matrix)
    snapshot = with_stated_pythons(snapshot_of_combination(combination, matrix, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())), matrix)
    supposed = time.monotonic()
    diagnosis = diagnose(snapshot, matrix, policy)
    if fixes and diagnosis.verdict is not Verdict.READY:
        from gpudoctor.plan.checked_fixes import with_checked_fixes  # noqa: PLC0415 -- the planner, which a combination in order does not need

        diagnosis = with_checked_fixes(diagnosis, combination, matrix, policy)
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


_shipped_matrix = functools.cache(open_matrix)
"""The shipped tables, which an agent asks again and again in one process."""
