"""The X-ray by itself, without the rest of a check: of an environment, or of files."""

from __future__ import annotations

import os
import sys
from typing import Protocol

import msgspec

from gpudoctor.errors import UsageError
from gpudoctor.probe import answers
from gpudoctor.probe.frameworks import frameworks
from gpudoctor.probe.inside import Inside, inside
from gpudoctor.probe.inventory import ISOLATED, SCRIPTS, own_path
from gpudoctor.probe.libraries import NOTHING, arguments, libraries, subjects
from gpudoctor.probe.packages import packages
from gpudoctor.probe.script_folder import script_folder
from gpudoctor.probe.target import Target, target
from gpudoctor.process import ANSWER, End, Outcome, Spec, Supervisor
from gpudoctor.snapshot import Libraries, Missing, Python
from gpudoctor.snapshot.xray import Environment, File, Files

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(SCRIPTS)))


class Options(Protocol):
    """Whose X-ray."""

    @property
    def python(self) -> str | None:
        """The interpreter or environment that the user names."""

    @property
    def root(self) -> str:
        """The root of the tree to look at."""

    @property
    def cwd(self) -> str | None:
        """The folder of the user's script."""


def of_environment(supervisor: Supervisor, options: Options) -> Environment:
    """Raises UsageError where the interpreter does not answer."""
    python, path, chosen, own = _interpreter(supervisor, options)
    found = frameworks(path, packages(path).distributions, own)
    asked = subjects(found)
    seen: Libraries | Missing = NOTHING
    if asked:
        seen = libraries(_probe(supervisor, arguments(PACKAGE, python.executable, path, asked, options.root, own)), asked)
    return Environment(python=python.executable, why=chosen.why, frameworks=found, libraries=seen, script_folder=script_folder(options.cwd))


def of_files(supervisor: Supervisor, options: Options, paths: tuple[str, ...]) -> Files:
    """Likewise."""
    python, path, _, own = _interpreter(supervisor, options)
    words = arguments(PACKAGE, python.executable, path, (), options.root, own)
    outcome = _probe(supervisor, (*words, *(word for one in paths for word in ("--file", one))))
    found = []
    for line in outcome.lines:
        try:
            found.append(msgspec.json.decode(line, type=File))
        except msgspec.MsgspecError:  # noqa: PERF203 -- a handful of lines
            continue
    rest = answers.gap(outcome, "the X-ray").reason
    return Files(python.executable, (*found, *(File(path, problem=rest) for path in paths[len(found) :])))


def _interpreter(supervisor: Supervisor, options: Options) -> tuple[Python, tuple[str, ...], Target, Inside]:
    chosen = target(options.python, os.environ, sys.executable, own_path())
    outcome = _run(supervisor, "python", (chosen.executable, f"{SCRIPTS}/python_probe.py", "--answer-fd", ANSWER))
    python, path = answers.python(outcome, chosen)
    if isinstance(python, Missing):
        raise UsageError(f"{python.reason}; name another with --python.")
    return python, path, chosen, inside(outcome)


def _probe(supervisor: Supervisor, words: tuple[str, ...]) -> Outcome:
    return _run(supervisor, "libraries", (sys.executable, *ISOLATED, f"{SCRIPTS}/libraries_probe.py", "--answer-fd", ANSWER, *words))


def _run(supervisor: Supervisor, name: str, argv: tuple[str, ...]) -> Outcome:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    supervisor.start(Spec(name=name, argv=argv, environment=environment, stall=20.0, deadline=60.0))
    return supervisor.wait([name]).get(name) or Outcome(name=name, end=End.STOPPED)
