"""Reads from Windows' build number that WSL is version 1 there: version 2 came with a later build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_BUILD_NUMBER = expression(
    r"(?i)\b(?:(?:version|windows)\W{1,4}10\.0\.|(?:os )?build(?: number)?\W{1,4}(?:10\.0\.)?)(?P<value>\d{5})\b(?![\w-])"
)
_WSL_WORDS = expression(
    r"(?i)\bWSL\b(?! ?2)|\bsubsystem for linux\b|\blxrun\b|\bbash on (?:ubuntu on )?windows\b|\b(?:ubuntu|debian|opensuse|kali)\b[^\n.]{0,40}\b(?:microsoft |windows )?store\b"
)
"""How people call it, by its own name or by what they installed."""
_MAX_SENTENCES = 400
"""Characters of a line that is about one machine."""
_FIRST_WITH_WSL2 = 18362
"""https://learn.microsoft.com/windows/wsl/install-manual, which names 18362.1049 as the first build with WSL 2."""
_OLDEST_BUILD = 14393
"""The first build with WSL."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield that the text is about WSL 1, if it names WSL and a build of Windows without WSL 2."""
    builds = [(line, found) for line in lines if (found := _BUILD_NUMBER.search(line.text) if _can_name_build(line.text) else None)]
    if not builds or not any(_WSL_WORDS.search(line.text) for line in lines):
        return
    for line, found in builds:
        if _OLDEST_BUILD <= int(found["value"]) < _FIRST_WITH_WSL2:
            yield Statement("platform:wsl1", f"Windows build {found['value']}", READER.name, line.number, Directness.TOOL)


def _can_name_build(text: str) -> bool:
    return len(text) <= _MAX_SENTENCES and ("10.0." in text or "build" in text.lower())


READER = Reader("Windows build", blocks=_statements, cues=("wsl", "subsystem", "lxrun", "bash on", "store"))
