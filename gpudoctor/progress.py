"""What a long-running part tells whoever watches: plain events, so that the library says and the terminal shows."""

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
    """On whose behalf: "tensorflow"."""
    network: str = ""
    """Of a stage: the network that it is about, "dense" or "convolutional"."""
    device: str = ""
    """Of a stage: the device that it runs on: "GPU:0"."""
    value: float = 0.0
    step: int = 0
    steps: int = 0
    """Where the work is in how many steps; 0 of 0 where that is not counted."""


Progress = Callable[[Event], None]


def silent(_event: Event) -> None:
    """Nobody watches."""
