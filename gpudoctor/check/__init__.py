"""The pipeline of a check: look, train, reason. Start-up is the cost of a look, so imports wait until the children run."""

from __future__ import annotations

from gpudoctor.check.model import CheckOptions, Examination, Timing
from gpudoctor.progress import Progress, silent

__all__ = ["CheckOptions", "Examination", "Timing", "run"]


def run(options: CheckOptions, progress: Progress = silent) -> Examination:
    """Examine this machine and one Python environment.

    Raises UsageError where an option cannot be used (an interpreter that is not there, a rule that does not exist, a wrong table).
    An interrupt ends the children and is reported in the examination; what was seen until then is kept.
    """
    from gpudoctor.check.pipeline import Pipeline  # noqa: PLC0415 -- loads what the command line does not need

    return Pipeline(options, progress).run()
