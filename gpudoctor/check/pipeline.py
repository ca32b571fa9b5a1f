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
from gpudoctor.check.interrupts import CheckInterrupted, Interrupts
from gpudoctor.check.model import CheckOptions
from gpudoctor.check.wait import look_again
from gpudoctor.derive import MachineView
from gpudoctor.derive.recovery import awaited_recovery
from gpudoctor.diagnose import choose_rules, crashed_diagnosis, diagnose, rules, tables_date
from gpudoctor.diagnose.rule_needs import usual_rules
from gpudoctor.examination import Examination, Timing
from gpudoctor.findings import Level
from gpudoctor.matrix_files import open_matrix
from gpudoctor.probe.crash_guard import result_or_gap, snapshot_with_step
from gpudoctor.probe.inventory import Inventory
from gpudoctor.probe.observation import finished_snapshot
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import NOT_ASKED, Cause, Loads, Missing, Pci, Smoke, Snapshot

result_or_gap(usual_rules)  # a rule that cannot be imported costs the diagnosis, which says so, not the check


class CheckPipeline:
    """One check that started at `began`, a time.monotonic()."""

    @staticmethod
    def refuse(options: CheckOptions) -> None:
        """Raise UsageError early for rules or tables that do not exist."""
        choose_rules(rules.RULES, options.policy)
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
    def _timed_step(self, what: str) -> Iterator[None]:
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
                snapshot = finished_snapshot(inventory, partial(_load_gpu_rules, interrupts))
            finally:
                self._end("inventory", self._began)
            if self._options.wait:
                inventory, snapshot = self._wait_for_recovery(inventory, snapshot)
            snapshot = snapshot_with_step(snapshot, self._with_touched_gpus, inventory)
            return snapshot_with_step(snapshot, self._with_training, inventory)
        except CheckInterrupted as interrupt:
            self._interrupted = interrupt.number
            self._supervisor.stop()
            stopped = Missing(Cause.NOT_ASKED, f"stopped by {interrupt}")
            seen = finished_snapshot(inventory) if snapshot is None else snapshot
            seen = msgspec.structs.replace(seen, remarks=(*seen.remarks, stopped.reason))
            if snapshot is None:
                return seen
            unasked = "contexts" if seen.contexts == NOT_ASKED else "smoke"
            return msgspec.structs.replace(seen, **{unasked: stopped, "smoke": tuple(self._trained) or stopped, "loads": self._loads})

    def _wait_for_recovery(self, inventory: Inventory, snapshot: Snapshot) -> tuple[Inventory, Snapshot]:
        """Observe again until nothing needs waiting for or time is up, leaving time for one more look; returns the last one."""

        def look() -> Snapshot:
            nonlocal inventory
            inventory = Inventory(self._supervisor, self._options.scope)
            inventory.begin()
            return finished_snapshot(inventory)

        def trouble(seen: Snapshot) -> str:
            machine = self._machine_view(seen)
            return awaited_recovery(seen, machine.hardware, machine.site)

        last = self._began + self._options.timeout - 2 * self._timings[-1].seconds
        until = min(time.monotonic() + self._options.wait, last)
        snapshot, seconds = look_again(snapshot, trouble, look, until, self._progress)
        if seconds:
            self._timings.append(Timing("waiting", seconds))
        return inventory, snapshot

    def _with_touched_gpus(self, snapshot: Snapshot, inventory: Inventory) -> Snapshot:
        """Run our own kernel on each GPU. NVML has finished by now and does not count our memory or process."""
        if self._options.policy.level in {None, Level.LOOK}:
            return snapshot
        from gpudoctor.check.touch import reason_against_touching, touch_gpus  # noqa: PLC0415 -- 10 ms, only for a check that touches

        machine = self._machine_view(snapshot)
        missing = result_or_gap(reason_against_touching, machine)
        if missing is not None:
            return msgspec.structs.replace(snapshot, contexts=missing)
        with self._timed_step("kernels"):
            ran = result_or_gap(
                touch_gpus,
                machine,
                inventory.libcuda_interpreter,
                self._supervisor,
                inventory.start.environ,
                self._progress,
                force=self._options.force,
            )
        return msgspec.structs.replace(snapshot, contexts=ran)

    def _with_training(self, snapshot: Snapshot, inventory: Inventory) -> Snapshot:
        if self._options.policy.level not in {Level.TRAIN, Level.FULL}:
            return snapshot
        from gpudoctor.check.training import SmokeRun  # noqa: PLC0415 -- 15 ms, only for a check that trains

        training = result_or_gap(SmokeRun, self._machine_view(snapshot), inventory.interpreter, force=self._options.force)
        if isinstance(training, Missing):
            return msgspec.structs.replace(snapshot, smoke=training)
        if isinstance(training.plans, Missing):
            return msgspec.structs.replace(snapshot, smoke=training.plans)
        with self._timed_step("smoke training"):
            try:
                training.run(self._supervisor, self._progress, self._trained.append)
            finally:
                self._loads = training.loads
        return msgspec.structs.replace(snapshot, smoke=tuple(self._trained), loads=self._loads)

    def _machine_view(self, snapshot: Snapshot) -> MachineView:
        return MachineView(snapshot, self._matrix, self._options.policy)

    def examination_of(self, snapshot: Snapshot) -> Examination:
        """The diagnosis of what was seen."""
        began = time.monotonic()
        diagnosis = result_or_gap(diagnose, snapshot, self._matrix, self._options.policy)
        self._timings.append(Timing("diagnosis", time.monotonic() - began))
        date = result_or_gap(tables_date, self._matrix)
        return Examination(
            snapshot=snapshot,
            diagnosis=crashed_diagnosis((diagnosis.reason,)) if isinstance(diagnosis, Missing) else diagnosis,
            policy=self._options.policy,
            matrix_date=date if isinstance(date, str) else "",
            timings=tuple(self._timings),
            interrupted=self._interrupted,
        )


def _load_gpu_rules(interrupts: Interrupts, seen: Snapshot) -> None:
    """Load the rules about GPUs, if there are any, while the last children look."""
    if isinstance(seen.pci, Pci) and seen.pci.devices:
        interrupts.hold()  # an interrupted import cannot be repeated
        result_or_gap(usual_rules, "gpus", "cuda_build")
        interrupts.allow()
