"""Finds the sentences in which somebody speaks of the machine at hand, and not of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.statements import Line

SENTENCE = "sentence"
"""The readers of sentences, as the report names them."""
_MOST = 2000
"""Lines to look at: longer texts are logs."""
_OWN = expression(
    r"(?i)\b(?:my|our|I|we|have|has|having|got|us(?:e|ing)|with|on|in|gpus?|cards?|graphics|machine|server|laptop|desktop|runn?(?:ing)?)\b|\bdriver(?: version)? is\b|\d ?[x\u00d7*]"
)
OTHERS = expression(
    r"(?i)\b(?:support\w*|requir\w*|recommend\w*|minimum|at least|e\.g|such as|like|vs|versus|instead|than|unlike|whil(?:e|st)|whereas|but|tested|"
    r"works? (?:fine |well |ok )?(?:on|with|for)|worked|previous(?:ly)?|older|newer|replac\w+|(?<!after )(?<!since )upgrad(?!ed to\b)\w+|upgrad\w+ (?:\w+ )?from|switch(?!ed to\b)\w*|swap\w*|before|another|other|if|or)\b"
)
"""Words of sentences that compare, or speak of what the writer may not have."""
_OF_TIME = expression(r"(?i)^(?:before|previous(?:ly)?|upgrad\w+|switch\w*|worked)$")
"""Those that only say when something was so."""


_END = expression(r"(?<=[\w)])(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[.!?] {1,4}(?=\S)")


def sentences(line: Line) -> Iterator[Line]:
    """Yield the sentences of a line: one compares or speaks of others, and the next need not."""
    if ". " not in line.text and "! " not in line.text and "? " not in line.text:
        yield line
        return
    for text in _END.split(line.text):
        yield msgspec.structs.replace(line, text=text)


def sentences_of_time(lines: Sequence[Line], about: Sequence[str]) -> Iterator[Line]:
    """Yield the sentences that say what the writer has or had, of those that contain one of the words `about`."""
    for line in lines[:_MOST]:
        for sentence in sentences(line):
            lowered = sentence.text.lower()
            if (
                any(word in lowered for word in about)
                and _OWN.search(sentence.text)
                and all(map(_OF_TIME.match, OTHERS.findall(sentence.text)))
            ):
                yield sentence


def own_sentences(lines: Sequence[Line], about: Sequence[str]) -> Iterator[Line]:
    """Yield the sentences that say what the writer has or uses, of those that contain one of the words `about`."""
    for line in lines[:_MOST]:
        for sentence in sentences(line):
            lowered = sentence.text.lower()
            if any(word in lowered for word in about) and _OWN.search(sentence.text) and not OTHERS.search(sentence.text):
                yield sentence
