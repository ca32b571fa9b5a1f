"""A line in a log that points to a finding, and words that make one cause of it likelier than another."""

from __future__ import annotations

import msgspec


class Signature(msgspec.Struct, frozen=True):
    """A regular expression, the findings that it indicates (likeliest first), and what it means, as the end of a sentence."""

    pattern: str
    causes: tuple[str, ...]
    meaning: str
    lines: tuple[str, ...]
    """Lines that people search for: text that the pattern matches, as it is logged."""
    last: bool = False
    """It is said beside the true error, so every other signature comes first."""
    vague: bool = False
    """It says only what failed, so any other finding explains it better."""
    needs_support: bool = False
    """It is a finding only if a fact or a hint speaks for one of its causes."""
    despite_versions: bool = False
    """It can be true of what fits by its version, so versions do not acquit its causes."""
    about_packages: bool = False
    """It is only about the packages that its line names: a framework which sees the GPU does without them."""
    guess: bool = False
    """Nothing in a text makes its cause more than possible."""
    said: bool = False
    """People say it, so a clause may only suppose it."""
    tells: str = ""
    """The command that shows which of its causes it is."""
    cure: str = ""
    """What fixes what this line says, where the usual fix of its cause would not."""


class Hint(msgspec.Struct, frozen=True):
    """Words that are no fault themselves, the cause they speak for ("" if their numbers decide), and a line that has them."""

    pattern: str
    cause: str
    line: str
    said: bool = False
    """People say it, so a clause may only suppose it."""
