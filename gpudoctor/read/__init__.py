"""Reads what people paste and attach: a gpudoctor report, or text from other tools, as a Snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.errors import UsageError
from gpudoctor.frameworks import MISTAKEN
from gpudoctor.matrix import Matrix
from gpudoctor.read.assemble import assemble
from gpudoctor.read.lines import lines_of
from gpudoctor.read.patterns import COUNTED, PATTERNS
from gpudoctor.read.statements import Line, Statement
from gpudoctor.signatures import harmless, hints, recognise
from gpudoctor.snapshot import Snapshot

__all__ = ["read_text"]


def read_text(data: bytes, name: str, matrix: Matrix, created: str) -> Snapshot:
    """Return the machine that a text describes. Raises UsageError, with what to paste, if no line of it is recognised."""
    lines = lines_of(data, name)
    statements = list(_statements(lines))
    signs = [line for line in lines if recognise(line.text)]
    noise = [line for line in lines if harmless(line.text)]
    if not statements and not signs and not noise:
        raise UsageError(
            f"Nothing in {name} is recognised. Paste the whole error message and log, and the output of `nvidia-smi`, "
            "`python -m torch.utils.collect_env` or `gpudoctor check --format json`."
        )
    log = sorted({*signs, *(line for line in lines if hints(line.text))}, key=lambda line: line.number) if signs else []
    return assemble(statements, log, noise, matrix, created)


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    unnumbered = dict.fromkeys(COUNTED, 0)
    for line in lines:
        told: set[str] = set()
        for pattern in PATTERNS:
            found = None if pattern.what in told else pattern.form.search(line.text)
            if found is None:
                continue
            told.add(pattern.what)
            name = found.groupdict().get("name")
            if pattern.what in COUNTED and name is None:
                name = str(unnumbered[pattern.what])
                unnumbered[pattern.what] += 1
            what = pattern.what if name is None else f"{pattern.what}:{MISTAKEN.get(name.lower(), name)}"
            yield Statement(what, re.sub(r"\s+", " ", found["value"]).strip(), pattern.reader, line.number, pattern.rank)
