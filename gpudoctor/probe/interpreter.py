"""Starts the target interpreter and reads what it reports about itself; if it reports nothing, finds out whether it is a Python at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from gpudoctor.children.channel import run, script
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.probe import answers
from gpudoctor.probe.target import Target, no_interpreter
from gpudoctor.process import End, Outcome, Spec, Supervisor, names_limit
from gpudoctor.snapshot import Cause, Missing, Python
from gpudoctor.snapshot.variable_names import READ_LATE

START = 30.0
"""Seconds for an interpreter to start and answer, in every command: a cold network file system with a slow sitecustomize takes ten."""
BARE = 5.0
"""The same without site, whose files START has just read."""
NAMES = ",".join(sorted(READ_LATE))
FRAMEWORKS = ",".join(spec.name for spec in CATALOGUE)
WITHOUT_SITE = ("-E", "-s", "-S", "-B")
"""Options with which every Python since 2.7 starts without site, sitecustomize and PYTHON* variables."""

_OF_THE_FILE = (
    0,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EACCES,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOEXEC,
    errno.EINVAL,
    errno.ELIBBAD,
)
"""Errors of execve(2) that are due to the file, or to its interpreter or loader; 0 is a path that no file can have."""


def asking(executable: str, environ: Mapping[str, str], *options: str, limit: float = START, beside: str | None = None) -> Spec:
    """The child that asks an interpreter about itself; it stalls after `limit` seconds. `beside` is the folder of a script."""
    name, interpreter = "bare python" if options else "python", (executable, *options)
    words = ("--find", FRAMEWORKS, "--names", NAMES, *(("--beside", os.path.abspath(beside)) if beside else ()))
    return script(name, "target/python_probe.py", interpreter, environ, *words, stall=limit, deadline=2 * limit)


def heard(outcome: Outcome, target: Target, supervisor: Supervisor, environ: Mapping[str, str]) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target reported about itself, and its sys.path as os.fsdecode gives it; missing if it is a Python that does not start.

    Raises UsageError if the user named something that is not a Python interpreter.
    """
    python, path = answers.python(outcome, target)
    if isinstance(python, Python) or python.cause is Cause.CRASHED or outcome.end in {End.STOPPED, End.OVERDUE}:
        return python, path
    if target.named and not (_is_python(outcome, target, supervisor, environ) or _is_limited(outcome)):
        raise no_interpreter(target.executable, _why(outcome))
    return python, path


def _is_limited(outcome: Outcome) -> bool:
    """Whether something else than the file that was named kept it from running: too few processes, files or memory."""
    if outcome.end is End.NOT_STARTED:
        return outcome.error not in _OF_THE_FILE
    return names_limit(outcome.stderr)


def _is_python(outcome: Outcome, target: Target, supervisor: Supervisor, environ: Mapping[str, str]) -> bool:
    """Whether it runs our script once the environment cannot interfere, or reports itself as a Python that cannot start."""
    if "Fatal Python error: " in outcome.stderr:
        return True
    bare = asking(target.executable, environ, *WITHOUT_SITE, limit=BARE)
    second = run(supervisor, bare)
    return second.end in {End.STOPPED, End.OVERDUE} or isinstance(answers.python(second, target)[0], Python)


def _why(outcome: Outcome) -> str:
    """How the supposed interpreter ended, as a clause."""
    if outcome.end is End.NOT_STARTED:
        return f"it cannot be started: {outcome.reason}"
    return f"it {outcome.trouble or 'did not run our script'}"
