"""What a text in people's own words is like, where no signature matches: whether it tells of a fault, and which cause it has.

Two linear models that `scripts/learn_words` learns from the texts of tests/read whose cause is known; likeness.json has their weights.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pkgutil import get_data
from typing import Final

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.snapshot import LikeCause, Likeness
from gpudoctor.typed_values import from_json

MODEL_FILE: Final = "likeness.json"
_FIRST_LINES, _LAST_LINES = 100, 200
"""Lines that count, from both ends of a text: people write above and below what they paste."""
_LEAST_PROBABILITY: Final = 0.1
"""The least probability of a cause to keep."""
_MAX_CAUSES = 3
"""Causes to keep, and words to show of each."""
_WORD: Final = expression(r"[a-z0-9_]+|[\u3040-\u30ff\u4e00-\u9fff]|[^\W0-9_a-z]+|[?!]")
"""A word of Latin letters, one Chinese or Japanese letter, a word of other letters, or the end of a question or a cry."""
_NUMBER: Final = expression(r"0x[0-9a-f]+|[0-9]+")
_LITTLE_WORDS: Final = expression(
    r"(?i)(?<![\w./:=-])(?:an?|the|this|that|my|our|we|i|it|is|are|was|but|and|when|after|since|not|no|does|doesn't|has|have|only|if|so|still|then|how|why"
    r"|ich|der|die|das|ist|nicht|und|auf|ein|eine|el|la|los|es|en|con|mi|le|les|est|pas|et|sur|que|o|um|uma|com|meu|il|non|per"
    r"|и|не|на|в|\u0441|что|но|после|[\u3040-\u30ff\u4e00-\u9fff]{4})(?![\w/:=-]|\.\w)"
)
"""Words that sentences of people have, and columns of programs seldom; in Chinese and Japanese a clause."""
_FEWEST_LITTLE_WORDS = 2
_LOGGED_LINE: Final = expression(
    r"\s{0,8}(?:[\w.]{1,60}\.)?(?:Key|Type|Index|Value|Attribute|Assertion|Name|Syntax|FileNotFound|ZeroDivision|NotImplemented|Permission|Connection\w{0,12}|Timeout|EOF|Pickling|Unpickling|JSONDecode|Indentation|Recursion|Lookup|Arithmetic|Overflow|Unicode\w{2,12})Error: |\s{0,8}(?:Not found|Internal|Invalid argument|Failed precondition|Resource exhausted|Unimplemented|Out of range|Cancelled|Aborted|Unavailable|Already exists|NOT_FOUND|INTERNAL|INVALID_ARGUMENT|FAILED_PRECONDITION|RESOURCE_EXHAUSTED|UNIMPLEMENTED|UNAVAILABLE|UNKNOWN): |\s{0,8}\[?(?:DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|LOG(?= \())\b|[^\n]{0,100}\bNCCL (?:INFO|WARN|TRACE)\b|[^\n]{0,200}\b[Ee]rrno:? \d|[IWEF](?: [\w/\\:.-]{5,200}:\d{1,5}\]|\d{4} [\d:.]{8,15}\s)|time=\S{10,40} level=|\d{4}[/-]\d\d[/-]\d\d[ T]\d\d:\d\d:"
)
"""How a line begins that a program logs, or with which Python ends, whatever words it has."""


class LinearModel(msgspec.Struct, frozen=True):
    """A linear model of text: softmax(bias + the sum of the weights of its words), words weighted by tf-idf and the whole by its length."""

    bias: tuple[float, ...]
    """Of each answer."""
    words: dict[str, tuple[float, dict[int, float]]]
    """A word, or two words with a space between; its inverse document frequency, and its weight for each answer by the answer's place."""

    def shares(self, terms: Sequence[str]) -> list[float]:
        """Return the probability of each answer."""
        scores = list(self.bias)
        for weights in self.parts(terms).values():
            for place, weight in weights.items():
                scores[place] += weight
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        total = sum(powers)
        return [power / total for power in powers]

    def parts(self, terms: Sequence[str]) -> dict[str, dict[int, float]]:
        """Return what each known word adds to the answers, by place."""
        counts = Counter(term for term in terms if term in self.words)
        sizes = {term: (1 + math.log(count)) * self.words[term][0] for term, count in counts.items()}
        norm = math.hypot(*sizes.values())
        return {term: {place: size / norm * weight for place, weight in self.words[term][1].items()} for term, size in sizes.items()}


class Models(msgspec.Struct, frozen=True):
    """Both models, and what they were learned from."""

    learned_from: str
    """Digest of the texts."""
    causes: tuple[str, ...]
    """The answers of `cause`: names of rules."""
    fault: LinearModel
    """Whether a text tells of a fault: no, yes. It counts pairs of words too, such as "works fine" and "is this"."""
    cause: LinearModel
    """Which cause a text that tells of a fault has."""


def words_of(text: str) -> list[str]:
    """Return the words of a text, in small letters; numbers count as 0, since a version or an address tells no cause."""
    return _WORD.findall(_NUMBER.sub("0", text.lower()))


def words_and_pairs(text: str) -> list[str]:
    """Return the words of a text, and each two that follow each other."""
    words = words_of(text)
    return [*words, *map(" ".join, itertools.pairwise(words))]


def _is_sentence(line: str) -> bool:
    """Return whether a line has the little words of what people write, and is none that a program logs."""
    return not _LOGGED_LINE.match(line) and len(_LITTLE_WORDS.findall(line)) >= _FEWEST_LITTLE_WORDS


def text_likeness(lines: Sequence[str]) -> Likeness:
    """Return whether a text of these lines seems to tell of a fault, and the causes that it is most like; nothing without a sentence."""
    chosen = lines if len(lines) <= _FIRST_LINES + _LAST_LINES else [*lines[:_FIRST_LINES], *lines[-_LAST_LINES:]]
    if not any(map(_is_sentence, chosen)):
        return Likeness()
    text = "\n".join(chosen)
    models, words = _models(), words_of(text)
    shares, parts = models.cause.shares(words), models.cause.parts(words)
    best = sorted((place for place, share in enumerate(shares) if share >= _LEAST_PROBABILITY), key=lambda place: -shares[place])[
        :_MAX_CAUSES
    ]
    causes = (
        LikeCause(models.causes[place], round(shares[place], 2), tuple(_strongest_words(parts, place))[:_MAX_CAUSES]) for place in best
    )
    return Likeness(round(models.fault.shares(words_and_pairs(text))[1], 2), tuple(cause for cause in causes if cause.words))


def _strongest_words(parts: dict[str, dict[int, float]], place: int) -> Iterator[str]:
    """Yield the words that speak for an answer, the strongest first."""
    for word in sorted(parts, key=lambda word: -parts[word].get(place, 0)):
        if parts[word].get(place, 0) > 0 and word.isalpha():
            yield word


@functools.cache
def _models() -> Models:
    return from_json(get_data(__package__, MODEL_FILE) or b"", Models)  # packaged as this module is
