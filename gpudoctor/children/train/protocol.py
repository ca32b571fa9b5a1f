"""What a smoke-training child sends to its parent, on a separate descriptor. Python 3.6 and newer, standard library only.

A line beginning with "@" is a progress mark; every other line is a JSON object with an "event" (stages.py lists them).
The JSON is strict ASCII: a number that is not finite is one of the strings "nan", "inf", "-inf", and text that is not
Unicode has backslash escapes.
"""

import contextlib
import gc
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
    """Smoke training does not support this release, which says nothing about the machine."""


class Answers:
    """The child's side of the descriptor. Each line is written before the call returns: the last one shows where a child died."""

    def __init__(self, descriptor):
        # ptxas, which frameworks may start, must not hold the descriptor open
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor

    def mark(self, text):
        """Announce the next step."""
        self._line("@" + ascii(plain(text))[1:-1])

    def event(self, event, **facts):
        """Send one event."""
        self._line(json.dumps(plain(dict(facts, event=event)), allow_nan=False, sort_keys=True))

    @contextlib.contextmanager
    def stage(self, name, **about):
        """Send the begin and end of a stage, with the facts that the body puts into the yielded dictionary.

        Facts learnt before a failure are sent with it. Raises StageError if the body raised.
        """
        self.event("begin", stage=name, **about)
        self.mark("")  # the previously announced step is over
        facts = {}
        began = time.monotonic()
        try:
            yield facts
        except (Exception, SystemExit) as error:  # a module that exits on import is a failure of that stage too
            complain()
            facts.update(about, error_type=type(error).__name__, error=first_lines(error))
            event = "unsupported" if isinstance(error, UnsupportedError) else "failed"
            self.event(event, stage=name, seconds=time.monotonic() - began, **facts)
            raise StageError(name) from error
        facts.update(about)
        self.event("end", stage=name, seconds=time.monotonic() - began, **facts)

    def crashed(self, kind, error, trace):
        """A sys.excepthook that reports a crash of our own code outside the stages, which the framework did not cause."""
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
            os._exit(1)  # nobody is listening any more


def plain(value):
    """`value` in a form that strict JSON can hold."""
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


@contextlib.contextmanager
def importing():
    """Look for no garbage while the body imports a framework, nor later in what it imported: a quarter of a short training's time."""
    gc.disable()
    try:
        yield
    finally:
        getattr(gc, "freeze", int)()  # since Python 3.7
        gc.enable()


def first_lines(error):
    """The beginning of an error's message, to which frameworks append whole graphs; its type if it has none, like MemoryError."""
    text = re.sub("\x1b\\[[0-9;]*m", "", str(error))  # Keras 3 prints some words in bold
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:ERROR_LINES])[:ERROR_CHARACTERS] or type(error).__name__


def complain():
    """Print the traceback to standard error, which the parent keeps as evidence, if it is still open."""
    with contextlib.suppress(Exception):
        traceback.print_exc()
        sys.stderr.flush()


def hold_standard_descriptors():
    """Open /dev/null for closed standard descriptors; otherwise the framework's files would get their numbers."""
    for descriptor in (0, 1, 2):
        if not is_open(descriptor):
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one


def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
