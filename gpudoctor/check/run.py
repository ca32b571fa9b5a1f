"""Starts a check: the first children run while the rest is imported, because start-up is most of a check's time."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gpudoctor.check.interrupts import Interrupted, Interrupts
from gpudoctor.check.model import CheckOptions
from gpudoctor.probe.inventory import Inventory
from gpudoctor.probe.tried import nothing_seen, tried
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress, silent
from gpudoctor.snapshot import Missing

if TYPE_CHECKING:
    from gpudoctor.check.pipeline import Pipeline
    from gpudoctor.examination import Examination


def run(options: CheckOptions, progress: Progress = silent) -> Examination:
    """Examine this machine and one Python environment.

    Raises UsageError for an option that cannot be used: a missing interpreter, an unknown rule, a wrong table.
    An interrupt ends the children; the examination reports it and keeps what was seen so far.
    """
    began = time.monotonic()
    if options.policy.only or options.policy.skip or options.compat is not None:
        _pipeline().refuse(options)
    with Interrupts() as interrupts, Supervisor(began + options.timeout) as supervisor:
        progress(Event("begin", "inventory"))
        inventory = tried(_begun, supervisor, options)
        if not isinstance(inventory, Missing):
            _start_ahead(inventory, interrupts)
        pipeline = _pipeline()(options, progress, supervisor, began)
        seen = inventory if isinstance(inventory, Missing) else tried(pipeline.observe, inventory, interrupts)
    return pipeline.conclude(nothing_seen(seen) if isinstance(seen, Missing) else seen)


def _begun(supervisor: Supervisor, options: CheckOptions) -> Inventory:
    inventory = Inventory(supervisor, options.scope)
    inventory.begin()
    return inventory


def _start_ahead(inventory: Inventory, interrupts: Interrupts) -> None:
    """Start the child that needs the target's answer. A crash or an interrupt comes again where the pipeline reports it."""
    from gpudoctor.check.ahead import ahead  # noqa: PLC0415 -- 40 ms, in which the target answers

    with suppress(Interrupted):
        interrupts.allow()
        tried(ahead, inventory)
        interrupts.hold()  # in here: one that comes before the last line would not be suppressed
    interrupts.hold()


def _pipeline() -> type[Pipeline]:
    """Return the rest of a check."""
    from gpudoctor.check.pipeline import Pipeline  # noqa: PLC0415 -- 50 ms, while the children look

    return Pipeline
