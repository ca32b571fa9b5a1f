"""The assumptions of `compat`, which observes nothing and takes what was stated."""

from __future__ import annotations

from gpudoctor.snapshot.values import Observed


class Supposed(Observed, frozen=True):
    """One assumption."""

    what: str
    """machine, Python, GPU, driver, system CUDA or system cuDNN."""
    value: str
    where: str
    """The option that stated it, or the source of what was added."""
