"""Lets every reader look at every line of a text, and yields what they state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.frameworks import MISTAKEN
from gpudoctor.line_forms import LineForms
from gpudoctor.read.readers import READERS
from gpudoctor.read.statements import Line, Statement

_FORMS = tuple((reader.name, form) for reader in READERS for form in reader.forms)
_COUNTED = ("gpu",)
"""What is stated once for each GPU: without a number of its own, the next one's."""
_SPACE = re.compile(r"\s+")


def statements_in(lines: Sequence[Line]) -> list[Statement]:
    """Return what the lines state, each alone and in the blocks that readers know, by line."""
    blocks = [statement for reader in READERS if reader.blocks for statement in reader.blocks(lines)]
    return sorted([*_of_single_lines(lines), *blocks], key=lambda one: one.line)


def _of_single_lines(lines: Sequence[Line]) -> Iterator[Statement]:
    forms = LineForms([form.pattern for _, form in _FORMS])
    unnumbered = dict.fromkeys(_COUNTED, 0)
    for line in lines:
        stated: set[str] = set()
        for place, found in forms.on(line.text):
            reader, form = _FORMS[place]
            if form.what in stated:
                continue
            stated.add(form.what)
            name = found.groupdict().get("name")
            if name is None and form.what in unnumbered:
                name = str(unnumbered[form.what])
                unnumbered[form.what] += 1
            if form.what == "package":
                name = MISTAKEN.get(str(name).lower(), name)
            what = form.what if name is None else f"{form.what}:{name}"
            yield Statement(what, _SPACE.sub(" ", found["value"]).strip(), reader, line.number, form.rank)
