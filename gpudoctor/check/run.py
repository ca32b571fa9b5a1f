"""Starts a check: the first children run while the rest is imported, because start-up is most of a check's time."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from gpudoctor.check.interrupts import CheckInterrupted, Interrupts
from gpudoctor.check.model import CheckOptions
from gpudoctor.probe.crash_guard import empty_snapshot, result_or_gap
from gpudoctor.probe.inventory import Inventory
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress, ignore_event
from gpudoctor.snapshot import Missing

if TYPE_CHECKING:
    from gpudoctor.check.pipeline import CheckPipeline
    from gpudoctor.examination import Examination


def examine_machine(options: CheckOptions, progress: Progress = ignore_event) -> Examination:
    """Examine this machine and one Python environment.

    Raises UsageError for an option that cannot be used: a missing interpreter, an unknown rule, a wrong table.
    An interrupt ends the children; the examination reports it and keeps what was seen so far.
    """
    began = time.monotonic()
    if options.policy.only or options.policy.skip or options.compat is not None:
        _pipeline_class().refuse(options)
    with Interrupts() as interrupts, Supervisor(began + options.timeout) as supervisor:
        progress(Event("begin", "inventory"))
        inventory = result_or_gap(_begun_inventory, supervisor, options)
        if not isinstance(inventory, Missing):
            _start_early_child(inventory, interrupts)
        pipeline = _pipeline_class()(options, progress, supervisor, began)
        seen = inventory if isinstance(inventory, Missing) else result_or_gap(pipeline.observe, inventory, interrupts)
    return pipeline.examination_of(empty_snapshot(seen) if isinstance(seen, Missing) else seen)


def _begun_inventory(supervisor: Supervisor, options: CheckOptions) -> Inventory:
    inventory = Inventory(supervisor, options.scope)
    inventory.begin()
    return inventory


def _start_early_child(inventory: Inventory, interrupts: Interrupts) -> None:
    """Start the child that needs the target's answer. A crash or an interrupt comes again where the pipeline reports it."""
    from gpudoctor.check.early_imports import start_xray_early  # noqa: PLC0415 -- 40 ms, in which the target answers

    with suppress(CheckInterrupted):
        interrupts.allow()
        result_or_gap(start_xray_early, inventory)
        interrupts.hold()  # in here: one that comes before the last line would not be suppressed
    interrupts.hold()


def _pipeline_class() -> type[CheckPipeline]:
    """Return the rest of a check."""
    from gpudoctor.check.pipeline import CheckPipeline  # noqa: PLC0415 -- 50 ms, while the children look

    return CheckPipeline
