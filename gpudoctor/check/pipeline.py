"""Runs a check after its first children have started: observes, trains if asked and possible, and diagnoses.

Imports the usual rules and the report's modules too, while the children are still busy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import msgspec

import gpudoctor.probe.identity
import gpudoctor.redact.shell
import gpudoctor.report.build  # noqa: F401 -- as above
from gpudoctor.check.interrupts import Interrupted, Interrupts
from gpudoctor.check.model import CheckOptions
from gpudoctor.check.wait import look_again
from gpudoctor.derive import MachineView
from gpudoctor.derive.transient import healing
from gpudoctor.diagnose import choose, diagnose, rules, tables_date, undiagnosed
from gpudoctor.diagnose.needed import usual
from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import Level
from gpudoctor.matrix_files import open_matrix
from gpudoctor.probe.inventory import Inventory
from gpudoctor.probe.observation import finished
from gpudoctor.probe.tried import extended, tried
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import NOT_ASKED, Cause, Loads, Missing, Pci, Smoke, Snapshot

tried(usual)  # a rule that cannot be imported costs the diagnosis, which says so, not the check


class Pipeline:
    """One check that started at `began`, a time.monotonic()."""

    @staticmethod
    def refuse(options: CheckOptions) -> None:
        """Raise UsageError early for rules or tables that do not exist."""
        choose(rules.RULES, options.policy)
        open_matrix(options.compat)

    def __init__(self, options: CheckOptions, progress: Progress, supervisor: Supervisor, began: float) -> None:
        self._options = options
        self._progress = progress
        self._supervisor = supervisor
        self._began = began
        self._matrix = open_matrix(options.compat)
        self._timings: list[Timing] = []
        self._interrupted = 0
        self._trained: list[Smoke] = []
        self._loads: Loads | Missing = NOT_ASKED

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        self._progress(Event("begin", what))
        began = time.monotonic()
        try:
            yield
        finally:
            self._end(what, began)

    def _end(self, what: str, began: float) -> None:
        self._timings.append(Timing(what, time.monotonic() - began))
        self._progress(Event("end", what))

    def observe(self, inventory: Inventory, interrupts: Interrupts) -> Snapshot:
        """Observe and train; after an interrupt the snapshot keeps what was seen before."""
        snapshot = None
        try:
            try:
                interrupts.allow()
                snapshot = finished(inventory, partial(_load_rules_about_gpus, interrupts))
            finally:
                self._end("inventory", self._began)
            if self._options.wait:
                inventory, snapshot = self._wait(inventory, snapshot)
            snapshot = extended(snapshot, self._touch, inventory)
            return extended(snapshot, self._train, inventory)
        except Interrupted as interrupt:
            self._interrupted = interrupt.number
            self._supervisor.stop()
            stopped = Missing(Cause.NOT_ASKED, f"stopped by {interrupt}")
            seen = finished(inventory) if snapshot is None else snapshot
            seen = msgspec.structs.replace(seen, remarks=(*seen.remarks, stopped.reason))
            if snapshot is None:
                return seen
            unasked = "contexts" if seen.contexts == NOT_ASKED else "smoke"
            return msgspec.structs.replace(seen, **{unasked: stopped, "smoke": tuple(self._trained) or stopped, "loads": self._loads})

    def _wait(self, inventory: Inventory, snapshot: Snapshot) -> tuple[Inventory, Snapshot]:
        """Observe again until nothing needs waiting for or time is up, leaving time for one more look; returns the last one."""

        def look() -> Snapshot:
            nonlocal inventory
            inventory = Inventory(self._supervisor, self._options.scope)
            inventory.begin()
            return finished(inventory)

        def trouble(seen: Snapshot) -> str:
            machine = self._view(seen)
            return healing(seen, machine.hardware, machine.site)

        last = self._began + self._options.timeout - 2 * self._timings[-1].seconds
        until = min(time.monotonic() + self._options.wait, last)
        snapshot, seconds = look_again(snapshot, trouble, look, until, self._progress)
        if seconds:
            self._timings.append(Timing("waiting", seconds))
        return inventory, snapshot

    def _touch(self, snapshot: Snapshot, inventory: Inventory) -> Snapshot:
        """Run our own kernel on each GPU. NVML has finished by now and does not count our memory or process."""
        if self._options.policy.level in {None, Level.LOOK}:
            return snapshot
        from gpudoctor.check.touch import touch, untouchable  # noqa: PLC0415 -- 10 ms, only for a check that touches

        machine = self._view(snapshot)
        missing = tried(untouchable, machine)
        if missing is not None:
            return msgspec.structs.replace(snapshot, contexts=missing)
        with self._timed("kernels"):
            ran = tried(
                touch,
                machine,
                inventory.libcuda_interpreter,
                self._supervisor,
                inventory.start.environ,
                self._progress,
                force=self._options.force,
            )
        return msgspec.structs.replace(snapshot, contexts=ran)

    def _train(self, snapshot: Snapshot, inventory: Inventory) -> Snapshot:
        if self._options.policy.level not in {Level.TRAIN, Level.FULL}:
            return snapshot
        from gpudoctor.check.training import SmokeRun  # noqa: PLC0415 -- 15 ms, only for a check that trains

        training = tried(SmokeRun, self._view(snapshot), inventory.interpreter, force=self._options.force)
        if isinstance(training, Missing):
            return msgspec.structs.replace(snapshot, smoke=training)
        if isinstance(training.plans, Missing):
            return msgspec.structs.replace(snapshot, smoke=training.plans)
        with self._timed("smoke training"):
            try:
                training.run(self._supervisor, self._progress, self._trained.append)
            finally:
                self._loads = training.loads
        return msgspec.structs.replace(snapshot, smoke=tuple(self._trained), loads=self._loads)

    def _view(self, snapshot: Snapshot) -> MachineView:
        return MachineView(snapshot, self._matrix, self._options.policy)

    def conclude(self, snapshot: Snapshot) -> Examination:
        """The diagnosis of what was seen."""
        began = time.monotonic()
        diagnosis = tried(diagnose, snapshot, self._matrix, self._options.policy)
        self._timings.append(Timing("diagnosis", time.monotonic() - began))
        date = tried(tables_date, self._matrix)
        return Examination(
            snapshot=snapshot,
            diagnosis=undiagnosed((diagnosis.reason,)) if isinstance(diagnosis, Missing) else diagnosis,
            policy=self._options.policy,
            matrix_date=date if isinstance(date, str) else "",
            timings=tuple(self._timings),
            interrupted=self._interrupted,
        )


def _load_rules_about_gpus(interrupts: Interrupts, seen: Snapshot) -> None:
    """Load the rules about GPUs, if there are any, while the last children look."""
    if isinstance(seen.pci, Pci) and seen.pci.devices:
        interrupts.hold()  # an interrupted import cannot be repeated
        tried(usual, "gpus", "cuda_build")
        interrupts.allow()
