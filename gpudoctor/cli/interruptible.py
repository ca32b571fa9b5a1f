"""Ends a command that has work to stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal end the command as Ctrl-C does: children and temporary folders go too."""
    from gpudoctor.check.interrupts import Interrupted, Interrupts  # noqa: PLC0415 -- where a signal has work to stop

    try:
        with Interrupts() as interrupts:
            interrupts.allow()
            yield
    except Interrupted as stop:
        raise KeyboardInterrupt(stop.number) from None
