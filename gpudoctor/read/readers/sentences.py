"""Finds the sentences in which somebody speaks of the machine at hand, and not of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.read.statements import Line

SENTENCE = "sentence"
"""The readers of sentences, as the report names them."""
_MOST = 2000
"""Lines to look at: longer texts are logs."""
_OWN = expression(
    # German; Spanish and Portuguese; French; Russian; Chinese and Japanese
    r"(?i)\b(?:ich|mein\w{0,2}|mit|auf|unter|habe|mi|tengo|con|en|uso|meu|minha|tenho|com|em|je|j'ai|mon|ma|avec|sous|sur|\u044f|\u043c\u043e\w{1,3}|\u043c\u0435\u043d\u044f|\u043d\u0430|\u0441)\b"
    r"|\u6211|\u7cfb\u7edf|\u7cfb\u7d71|\u663e\u5361|\u986f\u5361|\u5b89\u88c5|\u5b89\u88dd|\u4f7f\u7528|\u73af\u5883|\u74b0\u5883|\u7248\u672c|\u4f7f\u3063\u3066|\u30d0\u30fc\u30b8\u30e7\u30f3|\u670d\u52a1\u5668|\u673a\u5668"
    r"|\b(?:\u0432\u0438\u0434\u0435\u043e\u043a\u0430\u0440\u0442\w{1,3}|grafikkarte|carte graphique|tarjeta)\b"
    r"|\b(?:my|our|I|we|have|has|having|got|us(?:e|ing)|with|on|in|gpus?|cards?|graphics|machine|server|laptop|desktop|runn?(?:ing)?)\b|\bdriver(?: version)? is\b|\d ?[x\u00d7*]"
)
OTHERS = expression(
    r"(?i)\b(?:support\w*|requir\w*|recommend\w*|minimum|at least|e\.g|such as|like|vs|versus|instead|than|unlike|whil(?:e|st)|whereas|but|tested|"
    r"fr\u00fcher|vorher|aber|antes|pero|avant|\u0440\u0430\u043d\u044c\u0448\u0435|\u043d\u043e|works? (?:fine |well |ok )?(?:on|with|for)|worked|previous(?:ly)?|older|newer|replac\w+|(?<!after )(?<!since )upgrad(?!ed to\b|\w{1,3} (?:an?|my|the|our|this) (?:laptop|machine|server|system|computer|pc|box|node)\b)\w+|upgrad\w+ (?:\w+ )?from|switch(?!ed to\b)\w*|swap\w*|before|another|other|if|or)\b"
    r"|\u4ee5\u524d|\u4e4b\u524d|\u4f46\u662f|\u4e0d\u8fc7|\u5982\u679c|\u6bd4\u5982|\u4f8b\u5982|\u5c31\u53ef\u4ee5|\u3067\u306f\u306a\u304f|\u4ee5\u524d\u306f|\u652f\u6301|\u9700\u8981|\u8981\u6c42|\u5efa\u8bae|\u63a8\u8350|\u6362\u6210|\u6b63\u5e38"
)
"""Words of sentences that compare, or speak of what the writer may not have."""
_OF_TIME = expression(r"(?i)^(?:before|previous(?:ly)?|upgrad\w+|switch\w*|worked)$")
"""Those that only say when something was so."""


_COMPLAINT = expression(
    r"(?i)(?:,? (?:but|however|pero|aber|mais|mas|\u043d\u043e)\b|[,.]? ?(?:\u4f46\u662f?|\u4e0d\u8fc7|\u53ef\u662f))(?![^\n]*\d\.\d)[^\n]*$"
)
"""What somebody adds to what they have, without another version: "torch 2.5.1 on Windows 11, but it finds no GPU"."""
END = expression(r"(?<=[\w)])(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)[.!?] {1,4}(?=\S)")


_UNFINISHED = expression(
    r"(?i)is|was|are|has|have|with|version|drivers?|cuda|torch|pytorch|tensorflow|jax|on|in|an?|the|my|our|and|of|using|running"
)
"""The last word of a line whose sentence goes on with the next line."""


def _whole(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines, one whose sentence goes on with the next line together with that."""
    for line, following in zip_longest(lines, lines[1:]):
        is_cut = _UNFINISHED.fullmatch(line.text[-16:].rpartition(" ")[2])
        goes_on = is_cut and following is not None and following.number == line.number + 1
        yield msgspec.structs.replace(line, text=f"{line.text} {following.text.strip()}") if goes_on else line


def sentences(line: Line) -> Iterator[Line]:
    """Yield the sentences of a line: one compares or speaks of others, and the next need not."""
    if ". " not in line.text and "! " not in line.text and "? " not in line.text:
        yield line
        return
    for text in END.split(line.text):
        yield msgspec.structs.replace(line, text=text)


def sentences_of_time(lines: Sequence[Line], about: Sequence[str]) -> Iterator[Line]:
    """Yield the sentences that say what the writer has or had, of those that contain one of the words `about`."""
    for line in _whole(lines[:_MOST]):
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
    for line in _whole(lines[:_MOST]):
        for sentence in sentences(line):
            lowered = sentence.text.lower()
            if any(word in lowered for word in about) and _OWN.search(sentence.text):
                told = _COMPLAINT.sub("", sentence.text)
                if not OTHERS.search(told):
                    yield sentence if told == sentence.text else msgspec.structs.replace(sentence, text=told)
