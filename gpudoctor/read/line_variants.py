"""Other ways to read a line: joined with the next one, which a mail program wrapped, without Markdown and shell prompts around it, in English, or only what it quotes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.read.glossary import english_sentence
from gpudoctor.read.statements import Line
from gpudoctor.signatures.phrases import is_hypothetical

_MIN_WIDTH = 72
_USUAL_WIDTH = 80
"""Columns at which mail programs and terminals wrap lines."""
_MAX_JOINED = 5
"""Lines that are joined: a message has up to two hundred characters."""
_LINE_MARKERS = expression(
    r"\s{0,20}(?:[-*+•]|\d{1,2}[.)]|#{1,6}|\$|%|>>>|\.\.\.|//"
    r"|(?:\([\w.-]{1,40}\) ?)?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#\n]{0,80}[$#]|PS [^>\n]{0,80}>|[A-Z]:\\[^>\n]{0,80}>)\s{1,20}"
)
_TWO_COLUMN_ROW = expression(r"\|?\s{0,20}([A-Za-z][^|\n]{0,60}?)\s{0,20}\|\s{0,20}([^|\n]{1,200}?)\s{0,20}\|?$")
_EMPHASIS_MARKS = expression(r"\*\*|__|`")
_EMPTY_ANSWERS = frozenset(
    f"{begin}{words}{end}"
    for words in ("no result", "no results", "no output", "nothing", "empty", "none", "no match", "no matches")
    for begin, end in (("(", ")"), ("<", ">"), ("[", "]"), ("# ", ""), ("-> ", ""))
)
"""How people write that a command printed nothing."""
_REPORTED_OUTPUT = expression(
    r"(?i)\b(?:dpkg|rpm|apt|pacman|lsmod|modinfo|dkms|mokutil|dmesg|journalctl|nvidia-smi|nvcc|uname|ldd|ldconfig|lspci|ls|docker|kubectl|pip|conda|logs?|output|console)"
    r"(?: (?!no |not |never )[^\s,.;]{1,30}){0,4}?(?:: | (?:says?|said|shows?|showed|prints?|printed|reports?|reported|gives?|gave|returns?|returned|lists|contains?|has|is|->|=>)[: \"'`]{1,4})(?=\S)"
)
_SENTENCE_BREAK = expression(r"[,;] (?=[a-z])|\. (?=[A-Z])|[\"`]")
_SUCCESS_WORDS = r"(?:fixe[sd]|solve[sd]|resolve[sd]|helped|helps|did the trick|made it work)"
_SUCCESS_LINE = expression(
    rf"(?i)\W{{0,4}}(?:(?:(?:and|then|now|doing|running|setting|adding|after|yes|ok) ){{0,2}}(?:this|that|it|which|everything)(?: (?!not |n't |never )\w{{1,9}})? )?(?:{_SUCCESS_WORDS}|works?|worked)\b"
)
"""A line which says that what stands above it helped."""
_SUCCESS_ANNOUNCEMENT = expression(
    rf"(?i)\b(?:{_SUCCESS_WORDS}|solution|workaround)\b[^\n]{{0,60}}:\W{{0,3}}$|\b(?:(?:goes|went|is|was) (?:away|gone)|disappear(?:s|ed)|{_SUCCESS_WORDS}|works|worked|solvable) (?:with|by|after|once i (?:ran|run|set|export))\W{{0,3}}$"
)
"""A line which says that what stands below it helped."""
_ANNOUNCEMENT_ENDS = (":", "with", "by", "after", "ran", "run", "set", "export")
"""One of these is at the end of such a line: most lines need no search."""
_MAX_END = 12
_MAX_STEP = 200
"""Characters of a command or a step that a verdict is about."""
_MAX_LINE = 400
"""Characters of a line with a sentence that quotes what a program printed, or that is put into English."""
_MAX_SHORT_LINE = 40
"""Characters of a line that may be one of these, with what stands around it."""
_Widths = tuple[int, int]
"""Characters of a line, or of the longest of some: with what was put before it, and without. It was wrapped before that or after."""


class LineVariant(NamedTuple):
    """A text to match in place of a line's own."""

    line: Line
    text: str
    is_other: bool = False
    """It is not the line itself: it counts only if that says nothing."""
    seam: int = 0
    """Where the next line was joined: only a match across it is new. 0: nothing was joined."""
    is_translated: bool = False
    """It was put into English: only what people say counts, as programs' messages stay as they are."""


def line_variants(lines: Sequence[Line], touched: Collection[int] | None) -> Iterator[LineVariant]:
    """Yield each line as it is, and after it the other ways to read it; a line that is not one of the `touched` matches nothing as it is.

    Lines are joined where one of the `touched` is among them; None: nowhere.
    """
    widest = {} if touched is None else _block_widths(lines)
    joined = {place - back for place in touched or () for back in range(_MAX_JOINED)}
    for place, line in enumerate(lines):
        row = _key_value_line(line.text)
        if row or touched is None or place in touched:
            yield LineVariant(line, row or line.text)
        bare = _unmarked_line(line.text)
        if bare and not row:
            yield LineVariant(line, bare, is_other=True)
        yield from (LineVariant(line, answer, is_other=True) for answer in (_reported_outputs(line.text) if touched is not None else ()))
        if touched is not None and not line.text.isascii() and len(line.text) <= _MAX_LINE:
            yield LineVariant(line, english_sentence(line.text), is_other=True, is_translated=True)
        if place + 1 < len(lines) and len(lines[place + 1].text) <= _MAX_SHORT_LINE and lines[place + 1].text.strip() in _EMPTY_ANSWERS:
            yield LineVariant(line, f"{line.text} {lines[place + 1].text.strip()}", is_other=True, seam=len(line.text))
        if touched is not None and (told := _step_with_verdict(lines[place : place + 2])):
            yield LineVariant(line, told, is_other=True, seam=len(line.text))
        cuts_words = touched is not None and line.width >= _USUAL_WIDTH - 1
        following = _continuation_lines(lines[place : place + _MAX_JOINED], widest[line.number]) if cuts_words or place in joined else ()
        if following:
            for space in (" ", "") if cuts_words else (" ",):
                yield LineVariant(line, line.text + space.join(("", *following)), is_other=True, seam=len(line.text))


def _step_with_verdict(lines: Sequence[Line]) -> str:
    """Return a step and the line which says that it helped as one sentence; "" if the two lines are none."""
    if len(lines) < 2 or max(len(line.text) for line in lines) > _MAX_STEP:
        return ""
    first, second = (line.text for line in lines)
    return f"{first} {second.strip()}" if is_announcement(first) or is_verdict(second) else ""


def is_announcement(text: str) -> bool:
    """Return whether a line says that what stands below it helped: "what solved it:"."""
    end = text[-_MAX_END:].lower()
    return len(text) <= _MAX_STEP and any(word in end for word in _ANNOUNCEMENT_ENDS) and _SUCCESS_ANNOUNCEMENT.search(text) is not None


def is_verdict(text: str) -> bool:
    """Return whether a line says that what stands above it helped: "this worked for us"."""
    return len(text) <= _MAX_STEP and not text.rstrip().endswith((":", "?")) and _SUCCESS_LINE.match(text) is not None


def _continuation_lines(lines: Sequence[Line], widest: _Widths) -> Sequence[str]:
    """Return the rest of a message that begins on the first of the lines and was wrapped."""
    following: list[str] = []
    for last, line in pairwise(lines):
        if line.number > last.number + 1 or not _is_wrapped(last, line.text.strip(), widest):
            break
        following.append(line.text.strip())
    return following


def _key_value_line(text: str) -> str:
    """Return a row of a table with two columns as "key: value"; "" for anything else."""
    row = _TWO_COLUMN_ROW.fullmatch(text) if "|" in text else None
    return f"{row[1]}: {row[2]}" if row and "  " not in row[1] else ""


def _reported_outputs(text: str) -> Iterator[str]:
    """Yield what a sentence says that programs print: "dpkg says ii  nvidia-utils-550 ...", as a line of its own."""
    for found in _REPORTED_OUTPUT.finditer(text) if len(text) <= _MAX_LINE else ():
        if not is_hypothetical(text, found.end(), said=True):
            yield _SENTENCE_BREAK.split(text[found.end() :], maxsplit=1)[0]


def _unmarked_line(text: str) -> str:
    """Return the line without indentation, list bullets, prompts and emphasis; "" if it has none of these."""
    told = text
    if not told[:1].isalnum() or "@" in told or ":\\" in told or told[:3] == "PS " or told[:2].isdecimal() or told[1:2] in ".)":
        marker = _LINE_MARKERS.match(told)
        told = (told[marker.end() :] if marker else told).lstrip()
    if "`" in told or "**" in told or "__" in told:
        told = _EMPHASIS_MARKS.sub("", told)
    return told if told != text else ""


def _line_widths(line: Line) -> _Widths:
    return line.width, len(line.text)


def _is_wrapped(line: Line, following: str, widest: _Widths) -> bool:
    """Return whether the next line's first word had no room on this line, in a block of that width; the pieces of a long line always belong together."""
    word = len(following.partition(" ")[0])
    full = (
        most <= _USUAL_WIDTH and width + 1 + word > max(most, _MIN_WIDTH) for width, most in zip(_line_widths(line), widest, strict=True)
    )
    return any(full) or line.width > 10 * _USUAL_WIDTH


def _block_widths(lines: Sequence[Line]) -> dict[int, _Widths]:
    """Return the width of the block that each line is in: lines without an empty one between them."""
    widths: dict[int, _Widths] = {}
    block: list[Line] = []
    for line in lines:
        if block and line.number > block[-1].number + 1:
            widths.update(_widths_of_block(block))
            block = []
        block.append(line)
    widths.update(_widths_of_block(block))
    return widths


def _widths_of_block(block: Sequence[Line]) -> dict[int, _Widths]:
    measured = [_line_widths(line) for line in block]
    widest = (max((seen for seen, _ in measured), default=0), max((bare for _, bare in measured), default=0))
    return dict.fromkeys((line.number for line in block), widest)
