"""What words of a text say for a cause. Unlike a fact that a reader stated, they do not count where they are the line of the error itself."""

from __future__ import annotations

from gpudoctor.findings import Evidence


class Words(Evidence, frozen=True):
    """What stands in a text."""


class HintedLine(Words, frozen=True):
    """A line of which a hint matches a part."""
