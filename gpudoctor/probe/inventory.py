"""The first half of an inventory: starts its children. While they look, observation.py, which reads the rest, can be imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from gpudoctor.children.channel import isolated, outcome_of, own, script
from gpudoctor.probe.device_nodes import device_nodes
from gpudoctor.probe.interpreter import START, asking
from gpudoctor.probe.python_start import Start
from gpudoctor.probe.target import Target, target
from gpudoctor.probe.tried import tried
from gpudoctor.process import Outcome, Supervisor
from gpudoctor.snapshot import NOT_ASKED, Cause, DeviceNodes, Missing

MASK = "CUDA_VISIBLE_DEVICES"
NODE = Missing(Cause.NOT_ASKED, "--node skips the Python environment")


class Patience(msgspec.Struct, frozen=True):
    """The children's time limits, in seconds."""

    hardware_stall: float = 30.0
    """Silence after which a driver call counts as hung; a healthy one may take ten."""
    hardware: float = 240.0
    """In total: many GPUs without persistence mode take long, with a progress mark at each call."""
    python: float = START
    libraries: float = 20.0
    """For the X-ray, which takes some fifty milliseconds on a responsive file system."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
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


class Inventory:
    """One look at the machine and the target environment: `begin` starts the children, `observation.finished` assembles the snapshot.

    `target` is known after `begin`, `interpreter` at the end: the path that starts the target's own interpreter, or None if it does not
    work. `libcuda_interpreter` is the one that could query libcuda, possibly our own. All are as the file system has them.
    """

    def __init__(
        self, supervisor: Supervisor, scope: Scope, environ: Mapping[str, str] | None = None, patience: Patience | None = None
    ) -> None:
        """`environ` is the whole environment to examine and to start the children with; None is our own."""
        self.supervisor = supervisor
        self.scope = scope
        self.patience = patience or Patience()
        self.environ = dict(os.environ if environ is None else environ)
        self.nodes: DeviceNodes | Missing = NOT_ASKED
        self.remarks: list[str] = []
        self.spoke: set[str] = set()
        self.target = Target("", "")
        self.start = Start(self.environ)
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
        self.crash = tried(self._begin)

    def _begin(self) -> None:
        self.nodes = tried(device_nodes, self.scope.root)  # before any driver library can create one
        paths = own_path()
        identify = ("--identify",) if self.scope.identify else ()
        self._start("nvml", own(), "own/nvml_probe.py", *identify, "--path", *paths)
        if self.scope.node:
            self.target = Target(sys.executable, NODE.reason)
            self.ask_libcuda("", self.target.executable)
            return
        chosen = target(self.scope.python, self.environ, sys.executable, paths)
        self.ask_libcuda("", chosen.executable)
        self.ask(chosen)

    def ask(self, chosen: Target) -> None:
        """Have the target's interpreter report what it is; alone it is enough for the sections about the target."""
        self.target = chosen
        self.supervisor.start(asking(chosen.executable, self.environ, limit=self.patience.python, beside=self.scope.cwd))

    def ask_libcuda(self, suffix: str, executable: str) -> None:
        """With and without the mask in parallel, if there is one."""
        self.suffix = suffix
        self._start(f"libcuda{suffix}", isolated(executable), "target/libcuda_probe.py")
        if MASK in self.start.environ:
            self._start(f"unmasked{suffix}", isolated(executable), "target/libcuda_probe.py", "--unmasked")

    def started(self, start: Start) -> None:
        """Take note of the variables that the target's programs have; ask libcuda again if its start changes the mask."""
        before, self.start = self.start, start
        if MASK in start.set_by and before.environ.get(MASK) != start.environ.get(MASK):
            self.ask_libcuda("-started", self.target.executable)

    def _start(self, name: str, interpreter: tuple[str, ...], path: str, *arguments: str) -> None:
        limits = {"stall": self.patience.hardware_stall, "deadline": self.patience.hardware}
        spec = script(name, path, interpreter, self.start.environ, *arguments, **limits)
        self.supervisor.start(spec, lambda _line: self.spoke.add(name))

    def wait(self, name: str, until: float = float("inf")) -> Outcome:
        """How a child ended; one that was never started counts as stopped."""
        return outcome_of(self.supervisor, name, until)


def own_path() -> tuple[str, ...]:
    """Our own sys.path without the current directory, which `python -m` puts there."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return tuple(path for path in sys.path if os.path.isabs(path) and path != here)
