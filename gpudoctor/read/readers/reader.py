"""What a reader is: the forms of one format's lines, and for formats whose lines mean nothing alone, a function over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gpudoctor.read.statements import Directness, Line, Statement

VERSION_FORM = r"(?P<value>\d{1,6}(?:\.\d{1,12}){1,5})"
RELEASE_FORM = r"(?P<value>\d{1,6}(?:\.\w{1,20}){1,5}(?:[+]\w[\w.]{0,40})?)"
PACKAGE_FORM = r"(?P<name>[A-Za-z][\w.-]{1,60})"
INTEL_GPU_FORM = r"intel(?:\W{0,3}r\W)?\W{0,4}(?:gpus?\W{1,3})?(?:arc|iris|uhd|(?:hd )?graphics)\b"
"""In small letters, also as "Intel(R) UHD"."""
DRIVER_BRANCH_FORM = r"(?:384|39[06]|4[1-9][058]|5[1-9][05]|6[1-9][05])"
"""A driver branch: its releases have other last digits only before 2018."""


class StatementForm(NamedTuple):
    """The form of a line that states one fact: its group "value" is the fact, "name" completes the key."""

    what: str
    """The key of the fact, as in gpudoctor/read/statements.py."""
    pattern: str
    rank: Directness = Directness.TOOL


class Reader(NamedTuple):
    """What recognises one format in a text."""

    name: str
    """As the report names it: nvidia-smi, torch.utils.collect_env."""
    forms: tuple[StatementForm, ...] = ()
    """The first form of a key that matches a line is used."""
    blocks: Callable[[Sequence[Line]], Iterator[Statement]] | None = None
    """Yields what several lines state together: a table, an XML document."""
    cues: tuple[str, ...] = ()
    """Parts in lower case: without any of them in a text, `blocks` finds nothing; empty for any text."""
    of_kernel: bool = False
    """It reads the Linux kernel's lines too."""

    def block_statements(self, lines: Sequence[Line], lowered: str) -> Iterator[Statement]:
        """Return what several lines of a text state together; `lowered` is the text."""
        may_be_there = not self.cues or any(cue in lowered for cue in self.cues)
        return self.blocks(lines) if self.blocks and may_be_there else iter(())
