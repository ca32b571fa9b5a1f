"""Finds the sentences in which somebody speaks of the machine at hand, and not of others."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.glossary import english_sentence
from gpudoctor.read.statements import Line

SENTENCE_READER = "sentence"
"""The readers of sentences, as the report names them."""
_MAX_LINES = 2000
"""Lines to look at: longer texts are logs."""
_OWNER_WORDS = expression(
    r"(?i)\b(?:my|our|I|we|have|has|having|got|us(?:e|ing)|with|on|in|gpus?|cards?|graphics|machine|server|laptop|desktop|runn?(?:ing|s)?|installed|system)\b|\b(?:driver|version)(?: version)? is\b|\d ?[x\u00d7*]"
)
GENERAL_WORDS = expression(
    r"(?i)\b(?:support\w*|requir\w*|recommend\w*|minimum|at least|e\.g|such as|like|vs|versus|instead|than|unlike|whil(?:e|st)(?! (?:\w+ly )?(?:runn|us|try|train|install|build|import|execut|load|start|test|compil)\w*ing\b)|whereas|but|tested|"
    r"works? (?:(?:just |as )?(?:fine|well|ok|okay|perfectly|correctly|properly|great|expected|usual) )?(?:on|with|for|in|under)|worked|previous(?:ly)?|older|newer|replac\w+|(?<!after )(?<!since )upgrad(?!ed to\b|\w{1,3} (?:an?|my|the|our|this) (?:laptop|machine|server|system|computer|pc|box|node)\b)\w+|upgrad\w+ (?:\w+ )?from|switch(?!ed to\b)\w*|swap\w*|before|another|other|if|or)\b"
)
"""Words of sentences that compare, or speak of what the writer may not have."""
_TIME_WORDS = expression(r"(?i)^(?:before|previous(?:ly)?|upgrad\w+|switch\w*|worked)$")
"""Those that only say when something was so."""


_COMPLAINT_CLAUSE = expression(r"(?i),? {1,2}(?:but|however)\b(?![^\n]*\d\.\d)[^\n]*$")
"""What somebody adds to what they have, without another version: "torch 2.5.1 on Windows 11, but it finds no GPU"."""
SENTENCE_END = expression(r"(?<=[\w)])(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[.!?] {1,4}(?=\S)")


_ADVICE_WORDS = expression(
    r"(?i)\b(?:fix\w*|solv\w*|help\w*|works?|worked|working|try|tried|need|needs|needed|should|must|can|could|would|please|instead|remov\w+|delet\w+|unset\w*|if|or|to(?! (?:my|our|the|a)\b| [~./])|e\.g|such as|even|regardless)\b"
)
"""Words of sentences that tell what to run or to set, or what no longer is so."""
_PARENTHESES = expression(r"\([^()]{1,120}\)")


def is_advice(text: str, begin: int, end: int) -> bool:
    """Return whether the sentence around a command in a line only tells what to run, by its words before and after the command."""
    before, after = SENTENCE_END.split(text[:begin])[-1], text[end:].partition(". ")[0]
    return _ADVICE_WORDS.search(before) is not None or _ADVICE_WORDS.search(_PARENTHESES.sub("", after)) is not None


_UNFINISHED_WORDS = expression(
    r"(?i)is|was|are|has|have|with|version|drivers?|cuda|torch|pytorch|tensorflow|jax|on|in|an?|the|my|our|and|of|using|running"
)
"""The last word of a line whose sentence goes on with the next line."""


def _unwrapped_lines(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines, one whose sentence goes on with the next line together with that."""
    for line, following in zip_longest(lines, lines[1:]):
        is_cut = _UNFINISHED_WORDS.fullmatch(line.text[-16:].rpartition(" ")[2])
        goes_on = is_cut and following is not None and following.number == line.number + 1
        yield msgspec.structs.replace(line, text=f"{line.text} {following.text.strip()}") if goes_on else line


def sentences(line: Line) -> Iterator[Line]:
    """Yield the sentences of a line, with what readers look for in English: one compares or speaks of others, and the next need not."""
    for text in _english_sentences(line.text):
        yield line if text == line.text else msgspec.structs.replace(line, text=text)


@functools.lru_cache(maxsize=2 * _MAX_LINES)
def _english_sentences(text: str) -> tuple[str, ...]:
    return tuple(map(english_sentence, SENTENCE_END.split(text)))


def sentences_of_time(lines: Sequence[Line], about: Sequence[str]) -> Iterator[Line]:
    """Yield the sentences that say what the writer has or had, of those that contain one of the words `about`."""
    for line in _unwrapped_lines(lines[:_MAX_LINES]):
        for sentence in sentences(line):
            lowered = sentence.text.lower()
            if (
                any(word in lowered for word in about)
                and _OWNER_WORDS.search(sentence.text)
                and all(map(_TIME_WORDS.match, GENERAL_WORDS.findall(sentence.text)))
            ):
                yield sentence


def own_sentences(lines: Sequence[Line], about: Sequence[str]) -> Iterator[Line]:
    """Yield the sentences that say what the writer has or uses, of those that contain one of the words `about`."""
    for line in _unwrapped_lines(lines[:_MAX_LINES]):
        for sentence in sentences(line):
            lowered = sentence.text.lower()
            if any(word in lowered for word in about) and _OWNER_WORDS.search(sentence.text):
                told = _COMPLAINT_CLAUSE.sub("", sentence.text)
                if not GENERAL_WORDS.search(told):
                    yield sentence if told == sentence.text else msgspec.structs.replace(sentence, text=told)
