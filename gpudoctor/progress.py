"""Progress events of a long-running part: the library reports them and the terminal shows them."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Event(msgspec.Struct, frozen=True):
    """Something that began, ended or was measured."""

    kind: str
    """begin, end, number or note."""
    what: str
    """The stage or the number's name: "training", "loss"."""
    who: str = ""
    """The framework: "tensorflow"."""
    network: str = ""
    """For a stage: its network, "dense" or "convolutional"."""
    device: str = ""
    """For a stage: its device, "GPU:0"."""
    value: float = 0.0
    step: int = 0
    steps: int = 0
    """The current step and the number of steps; 0 of 0 if they are not counted."""


Progress = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """Nobody watches."""
