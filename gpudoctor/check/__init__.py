"""The pipeline of a check: look, train, reason. Start-up is the cost of a look, so most is imported while the children run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpudoctor.check.model import CheckOptions
from gpudoctor.progress import Event, Progress, silent

if TYPE_CHECKING:
    from gpudoctor.examination import Examination

__all__ = ["CheckOptions", "run"]


def run(options: CheckOptions, progress: Progress = silent) -> Examination:
    """Examine this machine and one Python environment.

    Raises UsageError where an option cannot be used (an interpreter that is not there, a rule that does not exist, a wrong table).
    An interrupt ends the children and is reported in the examination; what was seen until then is kept.
    """
    from gpudoctor.check.interrupts import Interrupts  # noqa: PLC0415 -- the command line is also for systems that cannot be checked
    from gpudoctor.probe.inventory import Inventory  # noqa: PLC0415 -- likewise
    from gpudoctor.process import Supervisor  # noqa: PLC0415 -- likewise

    began = time.monotonic()
    if options.policy.only or options.policy.skip or options.compat is not None:
        from gpudoctor.check.pipeline import refuse  # noqa: PLC0415 -- see below

        refuse(options)
    with Interrupts() as interrupts, Supervisor(began + options.timeout) as supervisor:
        progress(Event("begin", "inventory"))
        inventory = Inventory(supervisor, options)
        inventory.begin()
        from gpudoctor.check.pipeline import Pipeline  # noqa: PLC0415 -- 80 ms, while the children look

        pipeline = Pipeline(options, progress, supervisor, began)
        snapshot = pipeline.observe(inventory, interrupts)
    return pipeline.conclude(snapshot)
