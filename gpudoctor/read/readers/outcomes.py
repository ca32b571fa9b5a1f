"""Finds which clauses of the sentences that compare say that something fails, works, is in use now or was so earlier."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.readers.sentences import sentences
from gpudoctor.read.statements import Line

_MAX_LINES, _MAX_SENTENCE = 2000, 400
"""Lines of a text, and characters of a sentence, that are looked at: longer ones are logs."""
_MIN_COMPARED = 2
"""Values that make a comparison."""


class ClauseMeaning(enum.Enum):
    """What a clause says of what it names."""

    FAILS = "fails"
    IN_USE = "in use"
    WORKS = "works"
    EARLIER = "earlier"


_OPPOSITE_MEANING = {
    ClauseMeaning.FAILS: ClauseMeaning.WORKS,
    ClauseMeaning.WORKS: ClauseMeaning.FAILS,
    ClauseMeaning.IN_USE: ClauseMeaning.EARLIER,
    ClauseMeaning.EARLIER: ClauseMeaning.IN_USE,
}
"""What one side of a contrast says of the other, if that says nothing itself."""


class MeaningfulClause(NamedTuple):
    """A part of a sentence that compares."""

    line: Line
    """With the clause as its text."""
    meaning: ClauseMeaning
    sentence: str
    """The whole sentence: a version without a name is of what it names."""


_GENERAL_WORDS = expression(
    r"(?i)\b(?:support\w*|requir\w*|recommend\w*|minimum|at least|e\.g|such as|tested|should|could|would|might|may|try|need\w*|want\w*|plan\w*|if|or(?! v?\d)|whether|unless|please)\b|[=<>~!]=|^\W{0,4}(?:\w*(?:Error|Warning|Exception)|ERROR|WARNING|INFO|File)\b|\?\W{0,3}$"
)
"""What is said of nobody's machine in particular, is only wished for, or is a line of a log."""
_CONTRAST_BREAK = expression(
    r"(?i)[;\u2014]\s{1,4}|\s{1,4}[\u2013\u2014]\s{1,4}|,?\s{1,4}(?:but|whil(?:e|st)|whereas|although|though|however|yet|unlike|instead of|until(?= (?:I|we|the|it|an?)\b))\s{1,4}|,\s{1,4}(?=not (?:with|on|in|for|under|using)\b)"
    r"|,\s{1,4}(?=(?:mine|ours|now|since)\b)"
)
_NAMED_VERSION = expression(r"\d\.\d|\d{3,4}\b|\b[AHLVTP]\d{1,3}\b")
"""A version or a model: without one a side of a contrast is only a complaint."""
_PIECE_BREAK = expression(r"(?i),\s{1,4}(?:and\s{1,4})?|\s{1,4}and\s{1,4}")
_VERSION_CHANGE = expression(
    r"(?i)\bfrom\s{1,4}(?P<old>[^\n,;]{2,60}?)\s{1,4}(?:to|->|=>|\u2192)\s{1,4}(?P<new>[^\n,;]{2,60})|(?P<before>[\w .+-]{2,60}?\d)\s{0,4}(?:->|=>|\u2192)\s{0,4}(?P<after>[^\n,;]{2,60})"
)
_FAILURE_WORDS = expression(
    r"(?i)\b(?:fail(?:s|ed|ing|ure)?|br(?:oken?|eaks?|oke)|crash(?:es|ed|ing)?|hangs?|hanging|freez\w+|segfault\w*|(?<!no )(?<!without )errors?|exception|non-?working|faulty|undetected|unusable|useless|cannot|can't|unable|won't|ignored)\b"
    r"|\bnot (?:with|on|in|for|under|using|the (?:new|other|second)|work\w*|ok|found|detected|available|seen|recogni[sz]ed|usable)\b|\bno longer\b|\bno (?:gpus?|cuda|device)\b"
    r"|\b(?:do|does|did|is|was|has|have|could)(?:n't| not)\b|\bdoesnt\b|\bnever works?\b|\bstopped\b|\b(?:only|uses?|on|to) (?:the )?cpu\b|\bfalls? back\b|(?<!no )\bproblems?\b|\b(?:gives?|gets?|got|returns?) (?:me )?(?:an? |only )?(?:false|\[\]|0 gpus?|empty)"
)
_SUCCESS_WORDS = expression(
    r"(?i)\b(?:works|worked|working(?! (?:dir|folder|tree|set))|fine|ok(?:ay)?|good|healthy|unaffected|success\w*|fixe[sd]|solve[sd]|resolve[sd]|helped|cured|did the trick|no (?:problems?|issues?|errors?)|(?:sees?|finds?|detects?|uses?|recogni[sz]es?) (?:the |my |both |all )?(?:gpus?|cards?)|runs?|trains?|perfect\w*)\b"
    r"|\b(?:gives?|gets?|got|returns?) (?:me )?true\b|\b(?:is|was|are) (?:detected|found|seen|used|recogni[sz]ed|listed|visible|available|shown)\b"
)
_PRESENT_WORDS = expression(
    r"(?i)\b(?:now|currently|at the moment|since|mine|ours|(?:after|since|when|by)? ?(?:upgrad|updat|switch|mov|chang)(?:ed|ing) to|(?:update|upgrade|switch|move) to|replaced (?:it|them) (?:with|by)|new(?:er)?)\b"
)
_EARLIER_WORDS = expression(
    r"(?i)\b(?:before|previous(?:ly)?|formerly|earlier|used to|originally|old(?:er)?|was (?:on|using|running)|had(?: been)?|prior to|until|replac(?:ed|ing))\b"
)
_DOWNGRADE_WORDS = expression(
    r"(?i)\b(?:downgrad(?:e|ed|ing)|(?:roll|rolled|rolling|go|going|went|revert|reverted|reverting) back|revert(?:ed|ing)?)\b"
)
"""Going back to a release is what cures, unless the text says that it does not."""
_UPGRADE_WORDS = expression(r"(?i)\b(?:after|since|when|once)\b[^\n]{0,30}\b(?:updat|upgrad|switch|mov|chang)\w{1,4}\b")


def meaningful_clauses(lines: Sequence[Line], about: Sequence[str]) -> Iterator[MeaningfulClause]:
    """Yield the clauses whose outcome or time is said, of the sentences that contain one of the words `about` or follow on such a sentence."""
    for line in lines[:_MAX_LINES]:
        for sentence in sentences(line):
            text = sentence.text
            if len(text) <= _MAX_SENTENCE and any(word in text.lower() for word in about) and not _GENERAL_WORDS.search(text):
                for words, standing in _clause_meanings(text):
                    yield MeaningfulClause(msgspec.structs.replace(sentence, text=words), standing, text)


def _clause_meanings(sentence: str) -> Iterator[tuple[str, ClauseMeaning]]:
    """Yield the clauses of a sentence, each with what it says."""
    change = _VERSION_CHANGE.search(sentence)
    if change:
        old, new = change["old"] or change["before"], change["new"] or change["after"]
        rest = f"{sentence[: change.start()]} {sentence[change.end() :]}"
        outcome = _outcome_of_words(rest)
        went_back = _DOWNGRADE_WORDS.search(sentence) is not None
        if went_back or outcome is ClauseMeaning.WORKS:
            yield old, ClauseMeaning.EARLIER if outcome is not ClauseMeaning.WORKS and not went_back else ClauseMeaning.FAILS
            yield new, ClauseMeaning.WORKS if outcome is not ClauseMeaning.FAILS else ClauseMeaning.FAILS
        else:
            yield old, ClauseMeaning.EARLIER
            yield new, ClauseMeaning.FAILS if outcome is ClauseMeaning.FAILS else ClauseMeaning.IN_USE
        return
    segments = [segment for segment in _CONTRAST_BREAK.split(sentence) if segment]
    said = [list(_piece_meanings(segment)) for segment in segments]
    for segment, other, pieces in zip(segments, reversed(said), said, strict=True):
        yield from pieces
        if not pieces and len(segments) == _MIN_COMPARED and len(other) == 1 and _NAMED_VERSION.search(other[0][0]):
            yield segment, _OPPOSITE_MEANING[other[0][1]]


def _piece_meanings(segment: str) -> Iterator[tuple[str, ClauseMeaning]]:
    """Yield a part of a sentence without contrast, or its pieces if they differ: a piece that says nothing belongs to the next that does, or to the last."""
    pieces = [piece for piece in _PIECE_BREAK.split(segment) if piece]
    said = [_meaning_of_words(piece) for piece in pieces]
    if len({one for one in said if one}) < 2:
        whole = next((one for one in said if one), None)
        if whole:
            yield segment, whole
        return
    later: ClauseMeaning | None = None
    standings: list[ClauseMeaning | None] = []
    for one in reversed(said):
        later = one or later
        standings.insert(0, later)
    last: ClauseMeaning | None = None
    for piece, standing in zip(pieces, standings, strict=True):
        last = standing or last
        if last:
            yield piece, last


def _meaning_of_words(words: str) -> ClauseMeaning | None:
    """Return what words say: of the outcome rather than of the time, and of going back to a release that it cures."""
    outcome = _outcome_of_words(words)
    if outcome is ClauseMeaning.FAILS and _DOWNGRADE_WORDS.search(words):
        return None
    if outcome:
        return outcome
    if _DOWNGRADE_WORDS.search(words):
        return ClauseMeaning.WORKS
    if _UPGRADE_WORDS.search(words) or _PRESENT_WORDS.search(words):
        return ClauseMeaning.IN_USE
    return ClauseMeaning.EARLIER if _EARLIER_WORDS.search(words) else None


def _outcome_of_words(words: str) -> ClauseMeaning | None:
    if _FAILURE_WORDS.search(words):
        return ClauseMeaning.FAILS
    return ClauseMeaning.WORKS if _SUCCESS_WORDS.search(words) else None


def values_at_issue(stated: Collection[str], told: Iterable[tuple[ClauseMeaning, str]]) -> set[str]:
    """Return the values that a text is about, of those that it states and those that clauses name: what fails, else what is in use, else what neither worked nor was earlier.

    Several are what nothing sets apart.
    """
    by_standing: dict[ClauseMeaning, set[str]] = {}
    for standing, value in told:
        by_standing.setdefault(standing, set()).add(value)
    plain = set(stated)
    if len(plain.union(*by_standing.values())) < _MIN_COMPARED:
        return plain
    fails, in_use = by_standing.get(ClauseMeaning.FAILS, set()), by_standing.get(ClauseMeaning.IN_USE, set())
    fine = by_standing.get(ClauseMeaning.WORKS, set()) | by_standing.get(ClauseMeaning.EARLIER, set())
    failing = fails - fine or fails
    if len(fails) > 1:  # "2.11 and 2.12 fail, I am on 2.12"
        failing = failing & in_use or failing & plain or failing
    return failing or in_use - fine or in_use or plain - fine or plain
