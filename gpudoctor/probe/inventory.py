"""The whole inventory: children are started first and asked last, and what this process can read itself is read while they run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from gpudoctor.children.channel import isolated, outcome_of, own, script
from gpudoctor.probe.device_nodes import device_nodes
from gpudoctor.probe.interpreter import START, asking, heard
from gpudoctor.probe.target import Target, target
from gpudoctor.process import End, Outcome, Supervisor
from gpudoctor.snapshot import (
    NOT_ASKED,
    Cause,
    DeviceNodes,
    Distribution,
    Framework,
    Libcuda,
    Missing,
    Python,
    ScriptFolder,
    Snapshot,
    readable,
)

if TYPE_CHECKING:
    from gpudoctor.probe.inside import Inside

MASK = "CUDA_VISIBLE_DEVICES"
NODE = Missing(Cause.NOT_ASKED, "--node asks about the machine alone")


class Patience(msgspec.Struct, frozen=True):
    """How long the children may take, in seconds."""

    hardware_stall: float = 30.0
    """Without a sign of life before a driver call counts as hung; a healthy one may take ten."""
    hardware: float = 240.0
    """In all: many GPUs without persistence need long, with a sign of life at each call."""
    python: float = START
    libraries: float = 20.0
    """For the X-ray, which takes some fifty milliseconds where the file system answers."""


class Options(Protocol):
    """The part of the check's options that the inventory needs."""

    @property
    def python(self) -> str | None:
        """The interpreter or environment that the user names."""

    @property
    def node(self) -> bool:
        """Whether the machine alone is looked at, without a Python environment."""

    @property
    def root(self) -> str:
        """The root of the tree to look at."""

    @property
    def cwd(self) -> str | None:
        """The folder of the user's script."""

    @property
    def identify(self) -> bool:
        """Whether host and user names are kept."""


class Inventory:
    """One look at the machine and the target environment; `begin`, then `finish`.

    `target` is known after `begin` and `interpreter` after `finish`: the path by which to start the target's own interpreter,
    or None where it is no working one; `libcuda_interpreter` is the one that could ask libcuda, which may be our own.
    All are as the file system has them.
    """

    def __init__(
        self, supervisor: Supervisor, options: Options, environ: Mapping[str, str] | None = None, patience: Patience | None = None
    ) -> None:
        """`environ` is the whole environment to examine, and to start the children with; None is our own."""
        self._supervisor = supervisor
        self._options = options
        self._patience = patience or Patience()
        self._environ = dict(os.environ if environ is None else environ)
        self._nodes: DeviceNodes | Missing = NOT_ASKED
        self._remarks: list[str] = []
        self._spoke: set[str] = set()
        self.target = Target("", "")
        self.interpreter: str | None = None
        self.libcuda_interpreter = sys.executable

    def begin(self) -> None:
        """Start the children. Raises UsageError where --python names nothing that can be started."""
        self._nodes = device_nodes(self._options.root)  # before any driver library can create one
        paths = own_path()
        identify = ("--identify",) if self._options.identify else ()
        self._start("nvml", own(), "own/nvml_probe.py", *identify, "--path", *paths)
        if self._options.node:
            self.target = Target(sys.executable, NODE.reason)
            self._ask_libcuda("", self.target.executable)
            return
        self.target = target(self._options.python, self._environ, sys.executable, paths)
        self._ask_libcuda("", self.target.executable)
        self._supervisor.start(asking(self.target.executable, self._environ, limit=self._patience.python))

    def _ask_libcuda(self, suffix: str, executable: str) -> None:
        """With and without the mask side by side, where there is one."""
        self._start(f"libcuda{suffix}", isolated(executable), "target/libcuda_probe.py")
        if MASK in self._environ:
            self._start(f"unmasked{suffix}", isolated(executable), "target/libcuda_probe.py", without=MASK)

    def _start(self, name: str, interpreter: tuple[str, ...], path: str, *arguments: str, without: str = "") -> None:
        environ = {key: value for key, value in self._environ.items() if key != without}
        patience = self._patience
        stall, deadline = (patience.libraries,) * 2 if name == "libraries" else (patience.hardware_stall, patience.hardware)
        spec = script(name, path, interpreter, environ, *arguments, stall=stall, deadline=deadline)
        self._supervisor.start(spec, lambda _line: self._spoke.add(name))

    def finish(self, meanwhile: Callable[[], None] = lambda: None) -> Snapshot:
        """Read what this process can read itself, wait for the children, and put it all together.

        `meanwhile` is other work, done once the last child has started. Raises UsageError where --python names something that is no Python.
        """
        from gpudoctor.probe import answers  # noqa: PLC0415 -- these load while the children run
        from gpudoctor.probe.frameworks import frameworks  # noqa: PLC0415
        from gpudoctor.probe.inside import inside  # noqa: PLC0415
        from gpudoctor.probe.kernel_side import afterwards  # noqa: PLC0415
        from gpudoctor.probe.libraries import NOTHING, libraries, subjects  # noqa: PLC0415
        from gpudoctor.probe.packages import installers, packages  # noqa: PLC0415

        answered = Outcome(name="python", end=End.STOPPED) if self._options.node else self._wait("python")
        python, path = (NODE, ()) if self._options.node else heard(answered, self.target, self._supervisor, self._environ)
        sections: dict[str, object] = dict.fromkeys(("python", "packages", "frameworks", "libraries"), python)
        xrayed: tuple[Framework, ...] = ()
        if isinstance(python, Python):
            self.interpreter = self.target.executable
            prefix = python.prefix if python.kind == "conda" and isinstance(python.prefix, str) else ""
            installed = packages(path, prefix)
            python = installers(python, path)
            own = inside(answered)
            found = frameworks(path, installed.distributions, own)
            xrayed = subjects(found)
            if xrayed:
                self._start_xray(python.executable, path, xrayed, own)
            if not found:
                python = msgspec.structs.replace(python, elsewhere=_elsewhere(self._environ, path, self._options.root))
            sections = {"python": python, "packages": installed, "frameworks": found, "libraries": NOTHING}
        seen = self._look()
        meanwhile()
        masked, unmasked = self._libcuda(python)
        if xrayed:
            sections["libraries"] = libraries(self._wait("libraries"), xrayed)
        whole = msgspec.structs.replace(
            seen,
            **sections,
            nvml=answers.nvml(self._wait("nvml")),
            libcuda=masked,
            libcuda_unmasked=unmasked,
            script_folder=self._script_folder(),
            remarks=tuple(self._remarks),
        )
        return afterwards(whole, self._options.root, self._supervisor)

    def _script_folder(self) -> ScriptFolder | Missing:
        from gpudoctor.probe.script_folder import script_folder  # noqa: PLC0415 -- loaded while the children run

        return NODE if self._options.node else script_folder(self._options.cwd)

    def _start_xray(self, executable: str, path: tuple[str, ...], frameworks: tuple[Framework, ...], seen: Inside) -> None:
        from gpudoctor.probe.libraries import arguments  # noqa: PLC0415 -- only where there is a framework to look at

        self._start("libraries", own(), "own/libraries_probe.py", *arguments(executable, path, frameworks, self._options.root, seen))

    def _look(self) -> Snapshot:
        """What needs no child."""
        from gpudoctor.probe.container import container  # noqa: PLC0415
        from gpudoctor.probe.cuda_files import cuda_files  # noqa: PLC0415
        from gpudoctor.probe.host import host  # noqa: PLC0415
        from gpudoctor.probe.kernel_driver import kernel_driver  # noqa: PLC0415
        from gpudoctor.probe.kernel_side import with_kernel_side  # noqa: PLC0415
        from gpudoctor.probe.pci import pci  # noqa: PLC0415
        from gpudoctor.probe.surroundings import with_surroundings  # noqa: PLC0415
        from gpudoctor.probe.toolkits import compilers, toolkits  # noqa: PLC0415
        from gpudoctor.probe.variables import variables  # noqa: PLC0415

        root, environ = self._options.root, self._environ
        seen = Snapshot(
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            host=host(root, environ, identify=self._options.identify),
            container=container(root, environ),
            variables=variables(environ),
            pci=pci(root),
            kernel_driver=kernel_driver(root),
            device_nodes=self._nodes,
            toolkits=toolkits(root, environ),
            compilers=compilers(root, environ),
        )
        seen = msgspec.structs.replace(seen, cuda_files=cuda_files(root, environ, seen.kernel_driver))
        return with_surroundings(with_kernel_side(seen, root), root, environ)

    def _libcuda(self, python: Python | Missing) -> tuple[Libcuda | Missing, Libcuda | Missing]:
        """The library's answers with and without the mask; asked by our own interpreter where the target's cannot."""
        from gpudoctor.probe import answers  # noqa: PLC0415

        # an interpreter that hung in one script and has not begun the other gets no further wait
        given_up = isinstance(python, Missing) and python.cause is Cause.TIMED_OUT and "libcuda" not in self._spoke
        outcome = self._wait("libcuda", time.monotonic() if given_up else float("inf"))
        suffix, reason = "", answers.unable(outcome)
        if reason and self.target.executable != sys.executable:
            suffix = "-own"
            self._remarks.append(f"libcuda was asked under gpudoctor's own interpreter: {readable(self.target.executable)} {reason}")
            self._ask_libcuda(suffix, sys.executable)
            outcome = self._wait(f"libcuda{suffix}")
        else:
            self.libcuda_interpreter = self.target.executable
        if MASK not in self._environ:
            return answers.libcuda(outcome), NOT_ASKED
        return answers.libcuda(outcome), answers.libcuda(
            self._wait(f"unmasked{suffix}", time.monotonic() if given_up and not suffix else float("inf"))
        )

    def _wait(self, name: str, until: float = float("inf")) -> Outcome:
        return outcome_of(self._supervisor, name, until)


def _elsewhere(environ: Mapping[str, str], path: tuple[str, ...], root: str) -> tuple[Distribution, ...]:
    from gpudoctor.probe.other_environments import elsewhere  # noqa: PLC0415 -- only where the environment holds no framework

    return elsewhere(environ, path, root)


def own_path() -> tuple[str, ...]:
    """Our own sys.path without the current directory, which `python -m` puts there."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return tuple(path for path in sys.path if os.path.isabs(path) and path != here)
