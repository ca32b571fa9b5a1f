"""What a text states, a fact at a time: the common form of all readers."""

from __future__ import annotations

import enum

import msgspec


class Directness(enum.IntEnum):
    """How directly a text states a fact. Of two statements the more direct one is used."""

    PROSE = 1
    LOG = 2
    LISTING = 3
    TOOL = 4


class Line(msgspec.Struct, frozen=True):
    """A line of a text, without quotation marks, colour and log prefixes."""

    number: int
    text: str
    joined: bool = False
    """The next lines were joined to it, as they were before a mail program or a terminal wrapped them."""
    width: int = 0
    """Its characters with what was put before it."""
    file: str = ""
    """Its file, if the text consists of several."""
    by_kernel: bool = False
    """The Linux kernel wrote it."""

    @property
    def where(self) -> str:
        """Where it is, for evidence."""
        return f"{self.file} line {self.number}".lstrip()


class Statement(msgspec.Struct, frozen=True):
    """One fact in a text: "driver" is "535.104.05", on line 7 of report.txt, by nvidia-smi."""

    what: str
    """The fact's key, as the readers name it; a GPU is "gpu:0", a package "package:torch", a variable "variable:NAME"."""
    value: str
    reader: str
    line: int
    rank: Directness
    file: str = ""
    """As of a Line."""

    @property
    def where(self) -> str:
        """Where it was read, for evidence."""
        return f"{self.file} line {self.line}, {self.reader}".lstrip()
