"""Carries out a check: inventory, then smoke training where it is asked for and possible, then the diagnosis."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from gpudoctor.check.model import CheckOptions, Examination, Timing
from gpudoctor.findings import Level
from gpudoctor.frameworks import TRAINED
from gpudoctor.probe.inventory import Inventory
from gpudoctor.process import Supervisor
from gpudoctor.progress import Event, Progress
from gpudoctor.snapshot import NOT_ASKED, Cause, Loads, Missing, Smoke, Snapshot

if TYPE_CHECKING:
    from gpudoctor.derive import MachineView
    from gpudoctor.matrix import Matrix
    from gpudoctor.matrix.table import Table


class Interrupted(Exception):  # noqa: N818 -- not an error
    """A signal asked the check to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def _signals() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the check in order: the children first, then a report of what was seen."""

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise Interrupted(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Pipeline:
    """One check."""

    def __init__(self, options: CheckOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        self._began = time.monotonic()
        self._timings: list[Timing] = []
        self._interrupted = 0
        self._tables: Matrix | None = None
        self._trained: list[Smoke] = []
        self._loads: Loads | Missing = NOT_ASKED

    def run(self) -> Examination:
        """Look, train, reason."""
        self._refuse()
        with _signals(), Supervisor(self._began + self._options.timeout) as supervisor:
            snapshot = self._observe(supervisor)
        return self._conclude(snapshot)

    def _refuse(self) -> None:
        """Raise UsageError, before anything is looked at, where rules or tables were chosen that cannot be had."""
        if self._options.policy.only or self._options.policy.skip:
            self._load_rules()
        if self._options.compat is not None:
            self._matrix()

    def _matrix(self) -> Matrix:
        from gpudoctor.matrix_files import open_matrix  # noqa: PLC0415 -- see _load_rules

        self._tables = self._tables or open_matrix(self._options.compat)
        return self._tables

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        self._progress(Event("begin", what))
        began = time.monotonic()
        try:
            yield
        finally:
            self._timings.append(Timing(what, round(time.monotonic() - began, 4)))
            self._progress(Event("end", what))

    def _observe(self, supervisor: Supervisor) -> Snapshot:
        """The snapshot; an interrupt leaves in it what was seen before."""
        inventory = Inventory(supervisor, self._options)
        snapshot = None
        try:
            with self._timed("inventory"):
                inventory.begin()
                self._load_rules()
                snapshot = inventory.finish(self._load_tables)
            if self._options.wait:
                inventory, snapshot = self._wait(inventory, snapshot, supervisor)
            snapshot = self._touch(snapshot, inventory, supervisor)
            return self._train(snapshot, inventory, supervisor)
        except Interrupted as interrupt:
            self._interrupted = interrupt.number
            supervisor.stop()
            stopped = Missing(Cause.NOT_ASKED, f"the check was ended by {interrupt}")
            seen = inventory.finish() if snapshot is None else snapshot
            seen = msgspec.structs.replace(seen, remarks=(*seen.remarks, stopped.reason))
            if snapshot is None:
                return seen
            unasked = "contexts" if seen.contexts == NOT_ASKED else "smoke"
            return msgspec.structs.replace(seen, **{unasked: stopped, "smoke": tuple(self._trained) or stopped, "loads": self._loads})

    def _wait(self, inventory: Inventory, snapshot: Snapshot, supervisor: Supervisor) -> tuple[Inventory, Snapshot]:
        """Look again for as long as the user waits, or the check may last, with time for one more look; the last look."""
        from gpudoctor.check.wait import look_again  # noqa: PLC0415 -- only where it was asked for
        from gpudoctor.derive.transient import healing  # noqa: PLC0415 -- likewise

        def look() -> Snapshot:
            nonlocal inventory
            inventory = Inventory(supervisor, self._options)
            inventory.begin()
            return inventory.finish()

        def trouble(seen: Snapshot) -> str:
            machine = self._facts(seen)
            return healing(seen, machine.hardware, machine.site)

        last = self._began + self._options.timeout - 2 * self._timings[-1].seconds
        until = min(time.monotonic() + self._options.wait, last)
        snapshot, seconds = look_again(snapshot, trouble, look, until, self._progress)
        if seconds:
            self._timings.append(Timing("waiting", round(seconds, 4)))
        return inventory, snapshot

    def _load_rules(self) -> None:
        """What the diagnosis needs: loaded while the children look at the machine, or before them where a choice of rules may be none."""
        from gpudoctor.diagnose import RULES, choose  # noqa: PLC0415 -- see above

        choose(RULES, self._options.policy)

    def _load_tables(self) -> None:
        """Read the tables that most diagnoses ask, and load what every report goes through, while the slower children still look."""
        import gpudoctor.probe.identity  # noqa: PLC0415 -- see above
        import gpudoctor.redact.shell  # noqa: PLC0415 -- see above
        import gpudoctor.report.build  # noqa: F401, PLC0415 -- see above
        from gpudoctor.matrix.tables import CUDA, CUDNN, DRIVERS, TORCH_BUILDS  # noqa: PLC0415 -- see above

        matrix, platform = self._matrix(), f"linux_{os.uname().machine}"
        tables: tuple[tuple[Table[Any], str], ...] = ((CUDA, ""), (DRIVERS, ""), (CUDNN, platform), (TORCH_BUILDS, platform))
        for table, only_for in tables:
            matrix.rows(table, platform=only_for)
        for framework in TRAINED:
            matrix.releases(framework, platform)

    def _touch(self, snapshot: Snapshot, inventory: Inventory, supervisor: Supervisor) -> Snapshot:
        """A kernel of ours on each GPU: NVML has finished, so that neither our memory nor our process is counted."""
        if self._options.policy.level in {None, Level.LOOK}:
            return snapshot
        from gpudoctor.check.touch import touch, untouchable  # noqa: PLC0415 -- only a check that touches needs it

        machine = self._facts(snapshot)
        missing = untouchable(machine)
        if missing is not None:
            return msgspec.structs.replace(snapshot, contexts=missing)
        with self._timed("kernels"):
            ran = touch(machine, inventory.libcuda_interpreter, supervisor, os.environ, self._progress, force=self._options.force)
        return msgspec.structs.replace(snapshot, contexts=ran)

    def _train(self, snapshot: Snapshot, inventory: Inventory, supervisor: Supervisor) -> Snapshot:
        if self._options.policy.level not in {Level.TRAIN, Level.FULL}:
            return snapshot
        from gpudoctor import smoke  # noqa: PLC0415 -- only a check that trains needs it
        from gpudoctor.probe.load import Watch  # noqa: PLC0415 -- likewise

        planned = smoke.plan(self._facts(snapshot), inventory.interpreter, force=self._options.force)
        if isinstance(planned, Missing):
            return msgspec.structs.replace(snapshot, smoke=planned)
        places = {f"GPU:{ordinal}": address for plan in planned for ordinal, address in plan.addresses.items()}
        watch = Watch(supervisor, snapshot.nvml, places, os.environ)
        with self._timed("smoke training"):
            watch.begin()
            try:
                heard = watch.through(self._progress)
                smoke.train(planned, supervisor, os.environ, heard, done=self._trained.append)
            finally:
                self._loads = watch.finish()
        return msgspec.structs.replace(snapshot, smoke=tuple(self._trained), loads=self._loads)

    def _facts(self, snapshot: Snapshot) -> MachineView:
        from gpudoctor.derive import MachineView  # noqa: PLC0415 -- see _load_rules

        return MachineView(snapshot, self._matrix(), self._options.policy)

    def _conclude(self, snapshot: Snapshot) -> Examination:
        from gpudoctor.diagnose import diagnose  # noqa: PLC0415 -- loaded already

        began = time.monotonic()
        matrix = self._matrix()
        diagnosis = diagnose(snapshot, matrix, self._options.policy)
        self._timings.append(Timing("diagnosis", round(time.monotonic() - began, 4)))
        return Examination(
            snapshot=snapshot,
            diagnosis=diagnosis,
            policy=self._options.policy,
            matrix_date=matrix.date,
            timings=tuple(self._timings),
            interrupted=self._interrupted,
        )
