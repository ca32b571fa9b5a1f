"""Reads the fields of issue forms: "key: value", a heading with its answer below it, a row of a table with two columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN, framework_of
from gpudoctor.read.readers.field_keys import ANSWERS, FIELDS, FIRST_WORDS, NAMES
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Line, Rank, Statement

_MARKS = " \t>*+|#_`\u2022-"
_BETWEEN = expression(r"[*_`]{0,3}\s{0,6}(?:[:=|]|[-\u2013\u2014]\s)\s{0,20}[*_`]{0,3}\s{0,6}")
_WORD = expression(r"[a-z0-9]+")
_ASIDE = expression(r"\([^()]{0,120}\)|\[[^\[\]]{0,120}\]")
_KIND = expression(r"(?i)-gpu\b(?!\w)")
_UNDER = 4
"""Lines below a heading in which its answer is looked for."""
_LONGEST_NAME, _LONGEST = 90, 300
_RELEASES = expression(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?")


class _Asked(NamedTuple):
    """A field and its answer."""

    name: str
    answer: str
    line: int


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for asked in _fields(lines):
        for field, name, answer in zip(FIELDS, NAMES, ANSWERS, strict=True):
            named = name.fullmatch(asked.name)
            found = answer.match(asked.answer.lower()) if named else None
            if not (named and found) or (field.alone and len(set(_RELEASES.findall(asked.answer))) > 1):
                continue
            group = next(number for number, text in enumerate(found.groups(), 1) if text)
            value = " ".join(asked.answer[found.start(group) : found.end(group)].split()).rstrip(" *_`|")
            yield Statement(_key(field.what, named, asked.answer[found.end(group) :]), value, "field", asked.line, Rank.PROSE)


def _key(what: str, named: re.Match[str], after: str) -> str:
    """Return the key of a fact; people write the end of a package's name after the version: "tensorflow 1.8.0-gpu"."""
    if what == "package":
        said = named["package"].replace(" ", "")
        package = MISTAKEN.get(said, said)
        whole = package + (_KIND.match(after) or [""])[0].lower()
        package = whole if framework_of(whole) else package
        return f"package:{MISTAKEN.get(package, package)}"
    return "gpu:0" if what == "gpu" else what


def _fields(lines: Sequence[Line]) -> Iterator[_Asked]:
    for place, line in enumerate(lines):
        text = line.text.strip(_MARKS)
        begins = _WORD.match(text.lower())
        if len(line.text) > _LONGEST or not begins or begins[0] not in FIRST_WORDS:
            continue
        between = _BETWEEN.search(text, 0, _LONGEST_NAME)
        answer = text[between.end() :] if between else ""
        name = _plain(text[: between.start()] if between else text.rstrip(":"))
        if answer:
            yield _Asked(name, answer, line.number)
        elif not between and _is_label(name, line, lines[place + 1 : place + 2]):
            yield _Asked(name, lines[place + 1].text.strip(_MARKS), lines[place + 1].number)
        elif between or line.text.lstrip().startswith(("#", "*")):
            yield from (_Asked(name, below.text.strip(_MARKS), below.number) for below in _under(lines, place))


def _is_label(name: str, line: Line, following: Sequence[Line]) -> bool:
    """Return whether a line is nothing but a field's name, as forms are copied from a page. The line below it is the answer."""
    alone = not line.text.startswith((" ", "\t", "#", "*", "-")) and line.text[:1].isupper()
    return alone and bool(following) and any(field.fullmatch(name) for field in NAMES)


def _under(lines: Sequence[Line], place: int) -> Iterator[Line]:
    """Yield the lines of an answer below its heading, up to the next heading."""
    for below in lines[place + 1 : place + 1 + _UNDER]:
        if below.text.lstrip().startswith(("#", "**")):
            return
        yield below


def _plain(name: str) -> str:
    """Return a field's name as the table has it; who asks for the driver's CUDA says so in parentheses."""
    served = " driver" if re.search(r"\((?:driver|nvidia-smi|smi)\b", name.lower()) else ""
    return " ".join(_ASIDE.sub(" ", name.lower()).strip(_MARKS).split()) + served


READER = Reader("field", blocks=_statements)
