"""Starts the target interpreter and reads what it reports about itself; if it reports nothing, finds out whether it is a Python at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping

from gpudoctor.children.channel import run, script
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.probe import answers
from gpudoctor.probe.target import Target, no_interpreter_error
from gpudoctor.process import ChildEnd, ChildOutcome, ChildSpec, Supervisor, has_limit_message
from gpudoctor.snapshot import Cause, Missing, Python
from gpudoctor.snapshot.variable_names import READ_LATE

START_SECONDS = 30.0
"""Seconds for an interpreter to start and answer, in every command: a cold network file system with a slow sitecustomize takes ten."""
BARE_SECONDS = 5.0
"""The same without site, whose files START has just read."""
VARIABLE_NAMES = ",".join(sorted(READ_LATE))
_ADDED_SINCE_PYTHON_3_6 = frozenset((
    "_abc", "_aix_support", "_bootsubprocess", "_contextvars", "_posixshmem", "_py_abc", "_queue", "_statistics", "_tokenize", "_typing",
    "_uuid", "_zoneinfo", "contextvars", "dataclasses", "graphlib", "tomllib", "zoneinfo",
))  # fmt: skip
STANDARD_NAMES = ",".join(sorted(sys.stdlib_module_names - _ADDED_SINCE_PYTHON_3_6))
"""The standard library's modules for a Python before 3.10, which does not list its own."""
FRAMEWORK_NAMES = ",".join(spec.name for spec in CATALOGUE)
ISOLATING_OPTIONS = ("-E", "-s", "-S", "-B")
"""Options with which every Python since 2.7 starts without site, sitecustomize and PYTHON* variables."""

_FILE_ERRORS = (
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


def interpreter_query(
    executable: str, environ: Mapping[str, str], *options: str, limit: float = START_SECONDS, beside: str | None = None
) -> ChildSpec:
    """The child that asks an interpreter about itself; it stalls after `limit` seconds. `beside` is the folder of a script."""
    name, interpreter = "bare python" if options else "python", (executable, *options)
    asked = ("--find", FRAMEWORK_NAMES, "--names", VARIABLE_NAMES, "--standard", STANDARD_NAMES)
    words = (*asked, *(("--beside", os.path.abspath(beside)) if beside else ()))
    return script(name, "target/python_probe.py", interpreter, environ, *words, stall=limit, deadline=2 * limit)


def python_of_answer(
    outcome: ChildOutcome, target: Target, supervisor: Supervisor, environ: Mapping[str, str]
) -> tuple[Python | Missing, tuple[str, ...]]:
    """What the target reported about itself, and its sys.path as os.fsdecode gives it; missing if it is a Python that does not start.

    Raises UsageError if the user named something that is not a Python interpreter.
    """
    python, path = answers.python_answer(outcome, target)
    if isinstance(python, Python) or python.cause is Cause.CRASHED or outcome.end in {ChildEnd.STOPPED, ChildEnd.OVERDUE}:
        return python, path
    if target.named and not (_is_python(outcome, target, supervisor, environ) or _is_resource_failure(outcome)):
        raise no_interpreter_error(target.executable, _failure_clause(outcome))
    return python, path


def _is_resource_failure(outcome: ChildOutcome) -> bool:
    """Whether something else than the file that was named kept it from running: too few processes, files or memory."""
    if outcome.end is ChildEnd.NOT_STARTED:
        return outcome.error not in _FILE_ERRORS
    return has_limit_message(outcome.stderr)


def _is_python(outcome: ChildOutcome, target: Target, supervisor: Supervisor, environ: Mapping[str, str]) -> bool:
    """Whether it runs our script once the environment cannot interfere, or reports itself as a Python that cannot start."""
    if "Fatal Python error: " in outcome.stderr:
        return True
    bare = interpreter_query(target.executable, environ, *ISOLATING_OPTIONS, limit=BARE_SECONDS)
    second = run(supervisor, bare)
    return second.end in {ChildEnd.STOPPED, ChildEnd.OVERDUE} or isinstance(answers.python_answer(second, target)[0], Python)


def _failure_clause(outcome: ChildOutcome) -> str:
    """How the supposed interpreter ended, as a clause."""
    if outcome.end is ChildEnd.NOT_STARTED:
        return f"it cannot be started: {outcome.reason}"
    return f"it {outcome.trouble or 'did not run our script'}"
