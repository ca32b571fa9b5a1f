"""Reads the fields of issue forms: "key: value", a heading with its answer below it, a row of a table with two columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN, framework_of
from gpudoctor.read.readers.field_keys import FIELD_ANSWER_FORMS, FIELD_KEYS, FIELD_NAME_FORMS, FIRST_WORDS
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_MARGIN = " \t>*+|#_`\u2022-"
_KEY_SEPARATOR = expression(r"[*_`]{0,3}\s{0,6}(?:\?{0,2}[:=|]|[-\u2013\u2014]\s|\?{1,2}\s)\s{0,20}[*_`]{0,3}\s{0,6}")
_WORD_FORM = expression(r"[a-z0-9]+")
_PARENTHESES = expression(r"\([^()]{0,120}\)|\[[^\[\]]{0,120}\]")
_GPU_SUFFIX = expression(r"(?i)-gpu\b(?!\w)")
_MAX_ANSWER_LINES = 4
"""Lines below a heading in which its answer is looked for."""
_MAX_NAME, _MAX_LINE = 90, 300
_DRIVER_RELEASE = expression(r"\d{3}\.\d{1,3}(?:\.\d{1,3})?")


class _AnsweredField(NamedTuple):
    """A field and its answer."""

    name: str
    answer: str
    line: int


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for asked in _answered_fields(lines):
        for field, name, answer in zip(FIELD_KEYS, FIELD_NAME_FORMS, FIELD_ANSWER_FORMS, strict=True):
            named = name.fullmatch(asked.name)
            found = answer.match(asked.answer.lower()) if named else None
            if not (named and found) or (field.alone and len(set(_DRIVER_RELEASE.findall(asked.answer))) > 1):
                continue
            group = next(number for number, text in enumerate(found.groups(), 1) if text)
            value = " ".join(asked.answer[found.start(group) : found.end(group)].split()).rstrip(" *_`|")
            yield Statement(_fact_key(field.what, named, asked.answer[found.end(group) :]), value, "field", asked.line, Directness.PROSE)


def _fact_key(what: str, named: re.Match[str], after: str) -> str:
    """Return the key of a fact; people write the end of a package's name after the version: "tensorflow 1.8.0-gpu"."""
    if what == "package":
        said = named["package"].replace(" ", "")
        package = MISTAKEN.get(said, said)
        whole = package + (_GPU_SUFFIX.match(after) or [""])[0].lower()
        package = whole if framework_of(whole) else package
        return f"package:{MISTAKEN.get(package, package)}"
    return "gpu:0" if what == "gpu" else what


def _answered_fields(lines: Sequence[Line]) -> Iterator[_AnsweredField]:
    for place, line in enumerate(lines):
        text = line.text.strip(_MARGIN)
        begins = _WORD_FORM.match(text.lower())
        if len(line.text) > _MAX_LINE or not begins or begins[0] not in FIRST_WORDS:
            continue
        between = _KEY_SEPARATOR.search(text, 0, _MAX_NAME)
        answer = text[between.end() :] if between else ""
        name = _plain_field_name(text[: between.start()] if between else text.rstrip(":"))
        if answer:
            yield _AnsweredField(name, answer, line.number)
        elif not between and _is_label(name, line, lines[place + 1 : place + 2]):
            yield _AnsweredField(name, lines[place + 1].text.strip(_MARGIN), lines[place + 1].number)
        elif between or line.text.lstrip().startswith(("#", "*")):
            yield from (_AnsweredField(name, below.text.strip(_MARGIN), below.number) for below in _answer_lines(lines, place))


def _is_label(name: str, line: Line, following: Sequence[Line]) -> bool:
    """Return whether a line is nothing but a field's name, as forms are copied from a page. The line below it is the answer."""
    alone = not line.text.startswith((" ", "\t", "#", "*", "-")) and line.text[:1].isupper()
    return alone and bool(following) and any(field.fullmatch(name) for field in FIELD_NAME_FORMS)


def _answer_lines(lines: Sequence[Line], place: int) -> Iterator[Line]:
    """Yield the lines of an answer below its heading, up to the next heading."""
    for below in lines[place + 1 : place + 1 + _MAX_ANSWER_LINES]:
        if below.text.lstrip().startswith(("#", "**")):
            return
        yield below


def _plain_field_name(name: str) -> str:
    """Return a field's name as the table has it; who asks for the driver's CUDA says so in parentheses."""
    served = " driver" if re.search(r"\((?:driver|nvidia-smi|smi)\b", name.lower()) else ""
    return " ".join(_PARENTHESES.sub(" ", name.lower()).strip(_MARGIN).split()) + served


READER = Reader("field", blocks=_statements)
