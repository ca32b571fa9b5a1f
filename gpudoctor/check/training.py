"""Trains, and samples the GPUs' load at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable

from gpudoctor import smoke
from gpudoctor.derive import MachineView
from gpudoctor.probe.telemetry import GpuWatch
from gpudoctor.process import Supervisor
from gpudoctor.progress import Progress
from gpudoctor.snapshot import NOT_ASKED, Loads, Missing, Smoke


class SmokeRun:
    """The smoke training of one machine; `plans` is missing if nothing can train, `loads` is known after it ran."""

    def __init__(self, machine: MachineView, interpreter: str | None, *, force: bool) -> None:
        self.plans = smoke.planned_trainings(machine, interpreter, force=force)
        self.loads: Loads | Missing = NOT_ASKED
        self._nvml = machine.observed.nvml

    def run(self, supervisor: Supervisor, progress: Progress, done: Callable[[Smoke], None]) -> None:
        """Train with each framework in turn, passing each result to `done`."""
        if isinstance(self.plans, Missing):
            return
        places = {f"GPU:{ordinal}": address for plan in self.plans for ordinal, address in plan.addresses.items()}
        watch = GpuWatch(supervisor, self._nvml, places, os.environ)
        watch.begin()
        try:
            smoke.run_trainings(self.plans, supervisor, os.environ, watch.recording_progress(progress), done=done)
        finally:
            self.loads = watch.finish()
