"""What a smoke-training child says to its parent: lines on a descriptor of their own. Python 3.6 and newer, standard library only.

A line that begins with "@" is a mark of progress; every other line is one JSON object with an "event" (stages.py lists them).
JSON here is ASCII and strict: a number that is not finite is one of the strings "nan", "inf", "-inf", and text that is not
Unicode is written with backslash escapes.
"""

import contextlib
import json
import math
import os
import re
import sys
import time
import traceback

ERROR_LINES = 8
ERROR_CHARACTERS = 2000
FACT_CHARACTERS = 4000


class StageError(Exception):
    """A stage raised; its "failed" or "unsupported" event has been sent."""


class UnsupportedError(Exception):
    """The smoke training cannot be done with this release; that says nothing about the machine."""


class Answers:
    """The child's side of the descriptor. Each line is out before the call returns: what was last heard says where a child died."""

    def __init__(self, descriptor):
        # ptxas, which TensorFlow and others may start, must not keep the parent waiting for the end of the answers
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def mark(self, text):
        """Say what is about to happen."""
        self._line("@" + ascii(plain(text))[1:-1])

    def event(self, event, **machine):
        """Send one event."""
        self._line(json.dumps(plain(dict(machine, event=event)), allow_nan=False, sort_keys=True))

    @contextlib.contextmanager
    def stage(self, name, **about):
        """Send when a stage begins and how it ends, with the facts that the body puts into the dictionary it is given.

        Facts learnt before a failure are sent with it. Raises StageError where the body raised.
        """
        self.event("begin", stage=name, **about)
        self.mark("")  # what was said to happen before is over
        machine = {}
        began = time.monotonic()
        try:
            yield machine
        except (Exception, SystemExit) as error:  # a module that exits while it is imported is a failure of that stage too
            complain()
            machine.update(about, error_type=type(error).__name__, error=first_lines(error))
            event = "unsupported" if isinstance(error, UnsupportedError) else "failed"
            self.event(event, stage=name, seconds=time.monotonic() - began, **machine)
            raise StageError(name) from error
        machine.update(about)
        self.event("end", stage=name, seconds=time.monotonic() - began, **machine)

    def crashed(self, kind, error, trace):
        """A sys.excepthook: says what broke in our own code outside every stage, which is no failure of the framework."""
        sys.__excepthook__(kind, error, trace)
        last = traceback.extract_tb(trace)[-1:]
        place = "".join(" in {}, line {}".format(os.path.basename(frame.filename), frame.lineno) for frame in last)
        self.event("crashed", reason=kind.__name__ + ": " + first_lines(error)[:300] + place)

    def _line(self, text):
        unsent = text.encode("ascii") + b"\n"
        try:
            while unsent:
                unsent = unsent[os.write(self._descriptor, unsent) :]
        except OSError:
            os._exit(1)  # nobody listens any more, so nothing is worth going on for


def plain(value):
    """`value` as strict JSON can carry it."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")[:FACT_CHARACTERS]
    if isinstance(value, dict):
        return {plain(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")[:FACT_CHARACTERS]


def first_lines(error):
    """The beginning of an error's message, to which frameworks append whole graphs; its type where it has none, as MemoryError."""
    text = re.sub("\x1b\\[[0-9;]*m", "", str(error))  # Keras 3 prints some words in bold
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:ERROR_LINES])[:ERROR_CHARACTERS] or type(error).__name__


def complain():
    """The traceback on standard error, which the parent keeps as evidence, if anything still takes it."""
    with contextlib.suppress(Exception):
        traceback.print_exc()
        sys.stderr.flush()


def hold_standard_descriptors():
    """Put /dev/null where standard input, output or error is closed, so that no file of the framework's gets their number."""
    for descriptor in (0, 1, 2):
        if not is_open(descriptor):
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def is_open(descriptor):
    """Whether `descriptor` is in use."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
