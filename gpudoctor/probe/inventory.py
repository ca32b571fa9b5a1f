"""The first half of an inventory: starts its children. While they look, observation.py, which reads the rest, can be imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from gpudoctor.children.channel import isolated, outcome_of, own, script
from gpudoctor.probe.crash_guard import result_or_gap
from gpudoctor.probe.device_nodes import device_nodes
from gpudoctor.probe.interpreter import START_SECONDS, interpreter_query
from gpudoctor.probe.python_start import StartVariables
from gpudoctor.probe.target import Target, chosen_target
from gpudoctor.process import ChildOutcome, Supervisor
from gpudoctor.snapshot import NOT_ASKED, Cause, DeviceNodes, Missing

MASK_VARIABLE = "CUDA_VISIBLE_DEVICES"
NODE_ONLY = Missing(Cause.NOT_ASKED, "--node skips the Python environment")


class ProbeTimeouts(msgspec.Struct, frozen=True):
    """The children's time limits, in seconds."""

    hardware_stall: float = 30.0
    """Silence after which a driver call counts as hung; a healthy one may take ten."""
    hardware: float = 240.0
    """In total: many GPUs without persistence mode take long, with a progress mark at each call."""
    python: float = START_SECONDS
    libraries: float = 20.0
    """For the X-ray, which takes some fifty milliseconds on a responsive file system."""


class ProbeScope(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at."""

    python: str | None = None
    """The interpreter or environment folder that the user names; None: the first of five places."""
    node: bool = False
    """Only the machine, without a Python environment."""
    root: str = "/"
    """The root of the file system: a recorded tree in tests."""
    cwd: str | None = None
    """The folder of the user's script."""
    identify: bool = False
    """Keep host and user names."""
    cpu_builds: bool = False
    """Also follow the imports of builds without CUDA, with which to train on the CPU."""


class Inventory:
    """One look at the machine and the target environment: `begin` starts the children, `observation.finished_snapshot` assembles the snapshot.

    `chosen_target` is known after `begin`, `interpreter` at the end: the path that starts the target's own interpreter, or None if it does not
    work. `libcuda_interpreter` is the one that could query libcuda, possibly our own. All are as the file system has them.
    """

    def __init__(
        self, supervisor: Supervisor, scope: ProbeScope, environ: Mapping[str, str] | None = None, patience: ProbeTimeouts | None = None
    ) -> None:
        """`environ` is the whole environment to examine and to start the children with; None is our own."""
        self.supervisor = supervisor
        self.scope = scope
        self.patience = patience or ProbeTimeouts()
        self.environ = dict(os.environ if environ is None else environ)
        self.nodes: DeviceNodes | Missing = NOT_ASKED
        self.remarks: list[str] = []
        self.spoke: set[str] = set()
        self.target = Target("", "")
        self.start = StartVariables(self.environ)
        """The variables of the target's programs, once it has answered."""
        self.suffix = ""
        """What the names of the last children end in that asked libcuda."""
        self.interpreter: str | None = None
        self.libcuda_interpreter = sys.executable
        self.crash: Missing | None = None
        self.target_read: Any = None
        """What observation.py has read of the target, once it has answered."""

    def begin(self) -> None:
        """Start the children. Raises UsageError if --python names nothing that can be started."""
        self.crash = result_or_gap(self._start_children)

    def _start_children(self) -> None:
        self.nodes = result_or_gap(device_nodes, self.scope.root)  # before any driver library can create one
        paths = own_import_path()
        identify = ("--identify",) if self.scope.identify else ()
        self._start("nvml", own(), "own/nvml_probe.py", *identify, "--path", *paths)
        if self.scope.node:
            self.target = Target(sys.executable, NODE_ONLY.reason)
            self.start_libcuda("", self.target.executable)
            return
        chosen = chosen_target(self.scope.python, self.environ, sys.executable, paths)
        self.start_libcuda("", chosen.executable)
        self.ask(chosen)

    def ask(self, chosen: Target) -> None:
        """Have the target's interpreter report what it is; alone it is enough for the sections about the target."""
        self.target = chosen
        self.supervisor.start(interpreter_query(chosen.executable, self.environ, limit=self.patience.python, beside=self.scope.cwd))

    def start_libcuda(self, suffix: str, executable: str) -> None:
        """With and without the mask in parallel, if there is one."""
        self.suffix = suffix
        self._start(f"libcuda{suffix}", isolated(executable), "target/libcuda_probe.py")
        if MASK_VARIABLE in self.start.environ:
            self._start(f"unmasked{suffix}", isolated(executable), "target/libcuda_probe.py", "--unmasked")

    def started(self, start: StartVariables) -> None:
        """Take note of the variables that the target's programs have; ask libcuda again if its start changes the mask."""
        before, self.start = self.start, start
        if MASK_VARIABLE in start.set_by and before.environ.get(MASK_VARIABLE) != start.environ.get(MASK_VARIABLE):
            self.start_libcuda("-started", self.target.executable)

    def _start(self, name: str, interpreter: tuple[str, ...], path: str, *arguments: str) -> None:
        limits = {"stall": self.patience.hardware_stall, "deadline": self.patience.hardware}
        spec = script(name, path, interpreter, self.start.environ, *arguments, **limits)
        self.supervisor.start(spec, lambda _line: self.spoke.add(name))

    def wait(self, name: str, until: float = float("inf")) -> ChildOutcome:
        """How a child ended; one that was never started counts as stopped."""
        return outcome_of(self.supervisor, name, until)


def own_import_path() -> tuple[str, ...]:
    """Our own sys.path without the current directory, which `python -m` puts there."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return tuple(path for path in sys.path if os.path.isabs(path) and path != here)
