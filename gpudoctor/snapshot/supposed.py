"""What a supposed machine was made of: `compat` observes nothing, it takes what was stated."""

from __future__ import annotations

from gpudoctor.snapshot.values import Observed


class Supposed(Observed, frozen=True):
    """One thing that was taken for granted."""

    what: str
    """machine, Python, GPU, driver, system CUDA or system cuDNN."""
    value: str
    where: str
    """The option that stated it, or the source of what was added to it."""
