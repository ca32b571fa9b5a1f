"""Lets every reader look at every line of a text, and yields what they state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN
from gpudoctor.read.hits import READER_FORMS, STATED_TABLE, PatternHit
from gpudoctor.read.readers import READERS
from gpudoctor.read.statements import Line, Statement

_NUMBERED_FACTS = ("gpu",)
"""What is stated once for each GPU: without a number of its own, the next one's."""
_WHITE_SPACE = expression(r"\s+")
# conda 4 to 26, libmamba
_CONDA_REFUSAL = expression(
    r"Packages?NotFound(?:Error)?\b|not available from current channels|specifications were found to be in|Could not solve for environment specs|packages are incompatible|Encountered problems while solving"
)
# uv's account of its search
_UV_SEARCH = expression(r"\bBecause [^\n]{0,300}==")
_ITEM_BEGINNINGS = ("- ", "├", "└", "│")
_PACKAGE_KEYS = ("package:", "version:", "conda:", "installer:")


def statements_in(lines: Sequence[Line], hits: Sequence[PatternHit]) -> list[Statement]:
    """Return what the lines state, each alone and in the blocks that readers know, by line."""
    lowered = "\n".join(line.text for line in lines).lower()
    of_programs = [line for line in lines if not line.by_kernel]
    blocks = [statement for reader in READERS for statement in reader.block_statements(lines if reader.of_kernel else of_programs, lowered)]
    every = sorted([*_statements_of_hits(hits), *blocks], key=lambda line: line.line)
    refused = _refused_lines(lines, hits)
    return (
        [statement for statement in every if statement.line not in refused or not statement.what.startswith(_PACKAGE_KEYS)]
        if refused
        else every
    )


def _refused_lines(lines: Sequence[Line], hits: Sequence[PatternHit]) -> set[int]:
    """Return the lines that name what uv searched for, and what conda could not install, below its error."""
    errors = {hit.line.number for hit in hits if _CONDA_REFUSAL.search(hit.line.text)}
    found = {hit.line.number for hit in hits if _UV_SEARCH.search(hit.line.text)}
    below = False
    for line in lines if errors else ():
        if line.number in errors:
            below = True
        elif below and line.text.lstrip().startswith(_ITEM_BEGINNINGS):
            found.add(line.number)
        elif below:
            below = not line.text.strip() or _CONDA_REFUSAL.search(line.text) is not None
    return found


def _statements_of_hits(hits: Sequence[PatternHit]) -> Iterator[Statement]:
    unnumbered = dict.fromkeys(_NUMBERED_FACTS, 0)
    stated: set[tuple[int, str]] = set()
    for hit in hits:
        reader, form = READER_FORMS[hit.place] if hit.table == STATED_TABLE else ("", None)
        if form is None or (hit.line.number, form.what) in stated:
            continue
        stated.add((hit.line.number, form.what))
        found = hit.match
        name = found.groupdict().get("name")
        if name is None and form.what in unnumbered:
            name = str(unnumbered[form.what])
            unnumbered[form.what] += 1
        if form.what in {"package", "version"}:
            name = MISTAKEN.get(str(name).lower(), name)
        what = form.what if name is None else f"{form.what}:{name}"
        yield Statement(what, _WHITE_SPACE.sub(" ", found["value"]).strip(), reader, hit.line.number, form.rank)
