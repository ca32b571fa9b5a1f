"""The cues of every regular expression for lines of foreign text: each line that it matches contains all texts of one of these."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from gpudoctor.line_forms import PART_MARK
from gpudoctor.read.readers import READERS
from gpudoctor.signatures.hints import HINTS
from gpudoctor.signatures.noise import HARMLESS
from gpudoctor.signatures.table import SIGNATURES

if sys.version_info >= (3, 11):
    from re import _constants as op
    from re import _parser as sre
else:
    import sre_constants as op
    import sre_parse as sre

_COMMON = frozenset(
    [
        "a",
        "and",
        "be",
        "by",
        "can",
        "could",
        "cuda",
        "device",
        "error",
        "failed",
        "file",
        "for",
        "from",
        "gpu",
        "in",
        "is",
        "it",
        "library",
        "name",
        "not",
        "of",
        "on",
        "or",
        "that",
        "the",
        "this",
        "to",
        "torch",
        "version",
        "with",
    ]
)
"""Words that many lines contain: others are better cues."""
_MOST, _MOST_ALONE = 64, 2048
"""Ways to write out alternatives that follow others, and those of one expression; beyond, an alternative counts as unknown text."""
_SHORT, _TELLING, _OTHERS = 4, 3, 3
"""Characters of a run to which a common word is preferred; of a run that is worth looking for; how many runs are looked for beside the first."""
_FEW = 3
"""Letters of a set that are written out."""
EDGE, UNKNOWN = "\0", "\1"
"""In a written-out expression: something that is no letter, and something that may be one."""


def generated(root: Path) -> dict[Path, str]:
    """Return the text of the table."""
    patterns = [
        *(signature.pattern for signature in SIGNATURES),
        *(hint.pattern for hint in HINTS),
        *(pattern for pattern, _ in HARMLESS),
        *(form.pattern for reader in READERS for form in reader.forms),
    ]
    rows = (f"{_json(pattern)}: {_json(cues(pattern))}" for pattern in sorted(set(patterns)))
    return {root / "gpudoctor/line_forms/cues.json": "{\n" + ",\n".join(rows) + "\n}\n"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def cues(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return cues, one of which is in every line that the pattern matches: a word, or a part of one after PART, and other parts of the line."""
    found = {_cue(text) for text in _written_out(sre.parse(pattern).data)}
    needed = set(found)
    for one in sorted(found):
        # one at a time: two cues may follow from each other
        if any(_follows(other, one) for other in needed - {one}):
            needed.remove(one)
    return ((PART_MARK,),) if (PART_MARK,) in found else tuple(sorted(needed))


def _cue(text: str) -> tuple[str, ...]:
    """Return the best cue of one way to match: a rare whole word, else the run of known characters with the longest chunk; then the longest other runs."""
    words = list(_whole_words(text))
    runs = _runs(text)
    rare = [word for word in words if len(word) > 2 and word not in _COMMON] or (words if len(runs[0]) <= _SHORT else [])
    first = max(rare, key=len) if rare else PART_MARK + max(runs, key=_longest_chunk)
    others = [run for run in dict.fromkeys(runs) if run and len(run) >= min(_TELLING, len(runs[0])) and run not in first]
    return (first, *others[:_OTHERS])


def _longest_chunk(run: str) -> int:
    """Return the characters of a run's longest part without a space, by which lines that were wrapped are found."""
    return max(map(len, run.split()), default=0)


def _follows(cue: tuple[str, ...], from_: tuple[str, ...]) -> bool:
    """Return whether a line with the cue `from_` always has `cue` too."""
    parts = [one.removeprefix(PART_MARK) for one in cue if one != from_[0]]
    return (cue[0] == from_[0] or cue[0].startswith(PART_MARK)) and all(any(part in other for other in from_) for part in parts)


def _whole_words(text: str) -> Iterator[str]:
    """Yield the words that end on both sides at something that is no letter."""
    begin = 0
    bounded = False
    for place, character in enumerate(text):
        if character.isascii() and character.isalpha():
            continue
        if bounded and place > begin and character != UNKNOWN:
            yield text[begin:place]
        begin, bounded = place + 1, character != UNKNOWN


def _written_out(tree: Sequence[tuple[Any, Any]]) -> list[str]:
    """Return the ways to match, each as its known characters in lower case with EDGE and UNKNOWN between, and UNKNOWN around."""
    return [UNKNOWN + text + UNKNOWN for text in _ways(tree)]


def _ways(tree: Sequence[tuple[Any, Any]]) -> list[str]:
    """Return the ways to match the parts of an expression; where these are too many, the ways of the most telling parts."""
    parts = [_alternatives(operator, value) for operator, value in tree]
    count = 1
    for place in sorted(range(len(parts)), key=lambda place: -_telling(parts[place])):
        if len(parts[place]) > 1 and count * len(parts[place]) > (_MOST if count > 1 else _MOST_ALONE):
            shared = _shared(parts[place])
            parts[place] = shared if count * len(shared) <= _MOST else [UNKNOWN]
        count *= len(parts[place])
    return ["".join(way) for way in product(*parts)]


def _telling(ways: Sequence[str]) -> int:
    """Return the characters of the shortest run by which a way to match is known."""
    return min(max(map(len, _runs(way)), default=0) for way in ways)


def _runs(text: str) -> list[str]:
    """Return the runs of known characters, longest first."""
    return sorted((run for part in text.split(UNKNOWN) for run in part.split(EDGE)), key=len, reverse=True)


def _shared(ways: Sequence[str]) -> list[str]:
    """Return what all of too many ways have: the longest run of known characters, between unknown text; or nothing, if that is a way."""
    some = [way for way in ways if way]
    shared = next((run for run in _runs(min(some, key=len)) if all(run in way for way in some)), "")
    begin, end = (EDGE if all(_is_no_letter(way[place]) for way in some) else UNKNOWN for place in (0, -1))
    return [*([""] if len(some) < len(ways) else []), begin + shared + end]


def _is_no_letter(character: str) -> bool:
    return character != UNKNOWN and not character.isalpha()


def _alternatives(operator: Any, value: Any) -> list[str]:
    """Return the ways to match one part of an expression; assertions about what stands beside it add nothing."""
    read = {
        op.LITERAL: lambda: [_character(value)],
        op.IN: lambda: _one_of(value),
        op.BRANCH: lambda: [way for branch in value[1] for way in _ways(branch)],
        op.SUBPATTERN: lambda: _ways(value[3]),
        op.MAX_REPEAT: lambda: _repeated(*value),
        op.MIN_REPEAT: lambda: _repeated(*value),
        op.AT: lambda: [EDGE if value in {op.AT_BEGINNING, op.AT_BOUNDARY} else ""],
        op.ASSERT: lambda: [""],
        op.ASSERT_NOT: lambda: [EDGE if _is_behind_no_letter(*value) else ""],
    }.get(operator)
    return read() if read else [UNKNOWN]


def _repeated(least: int, most: int, tree: Sequence[tuple[Any, Any]]) -> list[str]:
    ways = _ways(tree)
    if (least, most) == (1, 1):
        return ways
    if (least, most) == (0, 1):
        return ["", *ways]
    has_letters = any(character == UNKNOWN or character.isalpha() for way in ways for character in way)
    more = UNKNOWN if has_letters or "" in ways else EDGE
    return [way + more for way in ways] if least else [UNKNOWN] if more == UNKNOWN else ["", EDGE]


def _is_behind_no_letter(direction: int, tree: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether an assertion says that no letter of ASCII stands before this place."""
    letters = {(op.RANGE, (ord(first), ord(last))) for first, last in ("az", "AZ")}
    excluded = set(tree[0][1]) if direction < 0 and len(tree) == 1 and tree[0][0] is op.IN else set()
    return (op.NEGATE, None) not in excluded and (letters <= excluded or (op.CATEGORY, op.CATEGORY_WORD) in excluded)


def _character(code: int) -> str:
    """Return what a literal is in lower case."""
    return chr(code).lower()


def _one_of(items: Sequence[tuple[Any, Any]]) -> list[str]:
    """Return the letters of a set in lower case, EDGE for what is no letter, or UNKNOWN for many letters."""
    letters: set[str] = set()
    for operator, value in items:
        if operator is op.LITERAL:
            letters.add(_character(value))
        elif operator is op.RANGE:
            letters.update(_character(code) for code in range(value[0], min(value[1], value[0] + 128) + 1))
        elif operator is op.CATEGORY and value in {op.CATEGORY_SPACE, op.CATEGORY_DIGIT, op.CATEGORY_NOT_WORD}:
            letters.update(EDGE, " ")
        else:
            return [UNKNOWN]
    if len(letters) == 1:
        return list(letters)
    few = {letter if letter.isalpha() else EDGE for letter in letters}
    return sorted(few) if len(few) <= _FEW else [UNKNOWN]
