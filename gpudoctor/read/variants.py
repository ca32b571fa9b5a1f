"""Other ways to read a line: joined with the next one, which a mail program wrapped, without Markdown and shell prompts around it, in English, or only what it quotes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.read.glossary import in_english
from gpudoctor.read.statements import Line
from gpudoctor.signatures.phrases import is_supposed

_NARROW = 72
_WIDE = 80
"""Columns at which mail programs and terminals wrap lines."""
_JOINED = 5
"""Lines that are joined: a message has up to two hundred characters."""
_MARKERS = expression(
    r"\s{0,20}(?:[-*+•]|\d{1,2}[.)]|#{1,6}|\$|%|>>>|\.\.\.|//"
    r"|(?:\([\w.-]{1,40}\) ?)?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#\n]{0,80}[$#]|PS [^>\n]{0,80}>|[A-Z]:\\[^>\n]{0,80}>)\s{1,20}"
)
_ROW = expression(r"\|?\s{0,20}([A-Za-z][^|\n]{0,60}?)\s{0,20}\|\s{0,20}([^|\n]{1,200}?)\s{0,20}\|?$")
_EMPHASIS = expression(r"\*\*|__|`")
_NOTHING = frozenset(
    f"{begin}{words}{end}"
    for words in ("no result", "no results", "no output", "nothing", "empty", "none", "no match", "no matches")
    for begin, end in (("(", ")"), ("<", ">"), ("[", "]"), ("# ", ""), ("-> ", ""))
)
"""How people write that a command printed nothing."""
_ANSWER = expression(
    r"(?i)\b(?:dpkg|rpm|apt|pacman|lsmod|modinfo|dkms|mokutil|dmesg|journalctl|nvidia-smi|nvcc|uname|ldd|ldconfig|lspci|ls|docker|kubectl|pip|conda|logs?|output|console)"
    r"(?: (?!no |not |never )[^\s,.;]{1,30}){0,4}?(?:: | (?:says?|said|shows?|showed|prints?|printed|reports?|reported|gives?|gave|returns?|returned|lists|contains?|has|is|->|=>)[: \"'`]{1,4})(?=\S)"
)
_GOES_ON = expression(r"[,;] (?=[a-z])|\. (?=[A-Z])|[\"`]")
_HELPED = r"(?:fixe[sd]|solve[sd]|resolve[sd]|helped|helps|did the trick|made it work)"
_VERDICT = expression(
    rf"(?i)\W{{0,4}}(?:(?:(?:and|then|now|doing|running|setting|adding|after|yes|ok) ){{0,2}}(?:this|that|it|which|everything)(?: (?!not |n't |never )\w{{1,9}})? )?(?:{_HELPED}|works?|worked)\b"
)
"""A line which says that what stands above it helped."""
_ANNOUNCED = expression(
    rf"(?i)\b(?:{_HELPED}|solution|workaround)\b[^\n]{{0,60}}:\W{{0,3}}$|\b(?:(?:goes|went|is|was) (?:away|gone)|disappear(?:s|ed)|{_HELPED}|works|worked|solvable) (?:with|by|after|once i (?:ran|run|set|export))\W{{0,3}}$"
)
"""A line which says that what stands below it helped."""
_ENDS = (":", "with", "by", "after", "ran", "run", "set", "export")
"""One of these is at the end of such a line: most lines need no search."""
_LONGEST_END = 12
_STEP = 200
"""Characters of a command or a step that a verdict is about."""
_LONGEST = 400
"""Characters of a line with a sentence that quotes what a program printed, or that is put into English."""
_SHORT = 40
"""Characters of a line that may be one of these, with what stands around it."""
_Widths = tuple[int, int]
"""Characters of a line, or of the longest of some: with what was put before it, and without. It was wrapped before that or after."""


class Variant(NamedTuple):
    """A text to match in place of a line's own."""

    line: Line
    text: str
    is_other: bool = False
    """It is not the line itself: it counts only if that says nothing."""
    seam: int = 0
    """Where the next line was joined: only a match across it is new. 0: nothing was joined."""
    is_translated: bool = False
    """It was put into English: only what people say counts, as programs' messages stay as they are."""


def variants(lines: Sequence[Line], touched: Collection[int] | None) -> Iterator[Variant]:
    """Yield each line as it is, and after it the other ways to read it; a line that is not one of the `touched` matches nothing as it is.

    Lines are joined where one of the `touched` is among them; None: nowhere.
    """
    widest = {} if touched is None else _widths(lines)
    joined = {place - back for place in touched or () for back in range(_JOINED)}
    for place, line in enumerate(lines):
        row = _as_pair(line.text)
        if row or touched is None or place in touched:
            yield Variant(line, row or line.text)
        bare = _bare(line.text)
        if bare and not row:
            yield Variant(line, bare, is_other=True)
        yield from (Variant(line, answer, is_other=True) for answer in (_answers(line.text) if touched is not None else ()))
        if touched is not None and not line.text.isascii() and len(line.text) <= _LONGEST:
            yield Variant(line, in_english(line.text), is_other=True, is_translated=True)
        if place + 1 < len(lines) and len(lines[place + 1].text) <= _SHORT and lines[place + 1].text.strip() in _NOTHING:
            yield Variant(line, f"{line.text} {lines[place + 1].text.strip()}", is_other=True, seam=len(line.text))
        if touched is not None and (told := _with_verdict(lines[place : place + 2])):
            yield Variant(line, told, is_other=True, seam=len(line.text))
        cuts_words = touched is not None and line.width >= _WIDE - 1
        following = _continued(lines[place : place + _JOINED], widest[line.number]) if cuts_words or place in joined else ()
        if following:
            for space in (" ", "") if cuts_words else (" ",):
                yield Variant(line, line.text + space.join(("", *following)), is_other=True, seam=len(line.text))


def _with_verdict(lines: Sequence[Line]) -> str:
    """Return a step and the line which says that it helped as one sentence; "" if the two lines are none."""
    if len(lines) < 2 or max(len(line.text) for line in lines) > _STEP:
        return ""
    first, second = (line.text for line in lines)
    return f"{first} {second.strip()}" if announces(first) or judges(second) else ""


def announces(text: str) -> bool:
    """Return whether a line says that what stands below it helped: "what solved it:"."""
    end = text[-_LONGEST_END:].lower()
    return len(text) <= _STEP and any(word in end for word in _ENDS) and _ANNOUNCED.search(text) is not None


def judges(text: str) -> bool:
    """Return whether a line says that what stands above it helped: "this worked for us"."""
    return len(text) <= _STEP and not text.rstrip().endswith((":", "?")) and _VERDICT.match(text) is not None


def _continued(lines: Sequence[Line], widest: _Widths) -> Sequence[str]:
    """Return the rest of a message that begins on the first of the lines and was wrapped."""
    following: list[str] = []
    for last, line in pairwise(lines):
        if line.number > last.number + 1 or not _is_wrapped(last, line.text.strip(), widest):
            break
        following.append(line.text.strip())
    return following


def _as_pair(text: str) -> str:
    """Return a row of a table with two columns as "key: value"; "" for anything else."""
    row = _ROW.fullmatch(text) if "|" in text else None
    return f"{row[1]}: {row[2]}" if row and "  " not in row[1] else ""


def _answers(text: str) -> Iterator[str]:
    """Yield what a sentence says that programs print: "dpkg says ii  nvidia-utils-550 ...", as a line of its own."""
    for found in _ANSWER.finditer(text) if len(text) <= _LONGEST else ():
        if not is_supposed(text, found.end(), said=True):
            yield _GOES_ON.split(text[found.end() :], maxsplit=1)[0]


def _bare(text: str) -> str:
    """Return the line without indentation, list bullets, prompts and emphasis; "" if it has none of these."""
    told = text
    if not told[:1].isalnum() or "@" in told or ":\\" in told or told[:3] == "PS " or told[:2].isdecimal() or told[1:2] in ".)":
        marker = _MARKERS.match(told)
        told = (told[marker.end() :] if marker else told).lstrip()
    if "`" in told or "**" in told or "__" in told:
        told = _EMPHASIS.sub("", told)
    return told if told != text else ""


def _measured(line: Line) -> _Widths:
    return line.width, len(line.text)


def _is_wrapped(line: Line, following: str, widest: _Widths) -> bool:
    """Return whether the next line's first word had no room on this line, in a block of that width; the pieces of a long line always belong together."""
    word = len(following.partition(" ")[0])
    full = (most <= _WIDE and width + 1 + word > max(most, _NARROW) for width, most in zip(_measured(line), widest, strict=True))
    return any(full) or line.width > 10 * _WIDE


def _widths(lines: Sequence[Line]) -> dict[int, _Widths]:
    """Return the width of the block that each line is in: lines without an empty one between them."""
    widths: dict[int, _Widths] = {}
    block: list[Line] = []
    for line in lines:
        if block and line.number > block[-1].number + 1:
            widths.update(_width_of(block))
            block = []
        block.append(line)
    widths.update(_width_of(block))
    return widths


def _width_of(block: Sequence[Line]) -> dict[int, _Widths]:
    measured = [_measured(line) for line in block]
    widest = (max((seen for seen, _ in measured), default=0), max((bare for _, bare in measured), default=0))
    return dict.fromkeys((line.number for line in block), widest)
