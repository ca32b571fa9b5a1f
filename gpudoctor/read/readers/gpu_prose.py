"""Reads names of GPUs in sentences: "on my RTX 5090", "8xH100". They count only if nothing more direct names a GPU, and all name one model or one sentence lists them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.outcomes import Standing, clauses, settled
from gpudoctor.read.readers.reader import INTEL_GPU, Form, Reader
from gpudoctor.read.readers.sentences import SENTENCE, own_sentences, sentences_of_time
from gpudoctor.read.statements import Line, Rank, Statement

GPU = (
    r"(?:RTX|GTX|GT|MX)[ -]?(?:PRO )?A?\d{3,4}M?(?: ?Ti\b)?(?: ?SUPER\b)?(?: PRO\b)?(?: Laptop\b| Ada\b)?"
    r"|(?:(?<=GeForce )|(?<=NVIDIA ))[89]\d{2}MX?\b|(?:[2-5]0[5-9]0|10[5-8]0|16[56]0) ?(?:Ti|SUPER)\b(?: ?SUPER\b)?"
    r"|Quadro (?:RTX )?[A-Z]{0,2}\d{3,4}M?|(?:GTX )?TITAN (?:RTX|Xp|X(?: \(?Pascal\b\)?)?|V|Z|Black)(?![a-z])|Tesla [PVKTMC]\d{1,4}(?:Xm|[a-zS])?|Jetson (?:AGX |Orin )?(?:Orin|Xavier|Nano|Thor|TX\d)(?: NX| Nano)?"
    r"|(?:A100|A800|H100|H200|H800|H20|B200|B300|GH200|GB200|GB10|DGX Spark|V100|P100|L40S?|A10G?(?!-\d{4})|A30|A40|A6000|A5000)"
)
_MENTION = expression(
    rf"(?i)(?<![a-z0-9_.-])(?:\d{{1,2}} ?[x\u00d7*] ?)?(?:NVIDIA |GeForce ){{0,2}}(?P<name>{GPU})s?(?![a-z0-9_.]*[a-z0-9_])"
)
"""In Chinese no space stands before or after a name."""
_FAILS = expression(
    rf"(?i)(?<![a-z0-9_.-])(?:{GPU})s?(?: cards?| gpus?)? (?:gets?|got|fails?|failed|crash(?:es|ed)?|throws?|threw|worked|stopped|used to work|no longer|is not|isn't|not)\b"
)
"""What somebody says of a GPU that does not work, or did until now, whose it may be: it counts if the text names no other."""
_BARE = expression(
    r"(?i)\b(?:(?:my|an?|single|dual|\dx) (?:nvidia )?|nvidia )(?P<name>(?:[2-5]0[5-9]0|10[5-8]0|16[56]0)(?: ?Ti\b)?(?: ?super\b)?|9[1-4]0MX)(?![\w.])"
)

_BOARD = expression(
    r"(?i)\b(?:my|our|an?|old|new|single|dual|two|four|nvidia|on|\d ?x) (?P<name>[TLP]4|K20X?|K40[cmst]?|K80|M10|M40|M60|P40|L40S?)(?: GPUs?| cards?)?(?![\w.=/-])"
)
"""Boards whose names are too short to stand alone."""
_OF_CLOUD = expression(
    r"(?i)(?<![a-z0-9_.-])nvidia-?(?:tesla-?)?(?P<name>[TLP]4|K80|P100|V100|[AH]100|H200|B200)(?:-\d{2,3}gb)?(?![a-z0-9_.]*[a-z0-9_])"
)
"""As clouds call them: nvidia-tesla-t4, NvidiaTeslaP100, https://cloud.google.com/compute/docs/gpus."""
_ORDERED = expression(r"(?i)^[\s\"'-]{0,12}(?:[\w.-]{1,40}/(?:gke-)?)?(?:accelerators?(?:_?type)?|gpu[_-]?type|machine_shape)[\"']?\s?[:=]")
"""The entry of a job's settings that orders a GPU."""

_FORMS = (_MENTION, _BARE, _BOARD, _OF_CLOUD)
_BARE_IN_CLAUSE = expression(
    r"(?i)(?:^\W{0,4}|\b(?:with|on|the|in|old|new|mine(?: is)?|of|to)\W{1,3}(?:an? |the )?)(?P<name>(?:[2-5]0[5-9]0|10[5-8]0|16[56]0)(?: ?Ti\b)?(?: ?super\b)?)(?![\w.])"
)
_IN_CLAUSE = (*_FORMS, _BARE_IN_CLAUSE)
"""In a sentence that compares a model's number is enough."""
_BRAND = expression(r"\b(?:rtx|gtx|geforce|nvidia|tesla|quadro)\b[ -]?")
_AND = expression(r"(?i)[\s,&+]{0,3}(?:(?:and|plus|with|an?|one|two|three|four|the|another|x|\d{1,2}|nvidia|geforce)[\s,&+x*]{1,3}){0,5}")
"""What stands between two GPUs of a list."""
_FEW = 200
"""Lines of a text whose every mention of a GPU is looked for."""
LISTED = "+"
"""What marks a GPU that a sentence lists with others."""

_ABOUT = ("0", "rtx", "gtx", "quadro", "titan", "tesla", "jetson", "t4", "l4", "p4")
"""What every name has."""


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the GPUs of the writer's sentences; if there are none, the only one that the writer says to have or to have had."""
    named = list(_named(own_sentences(lines, _ABOUT)))
    told = list(_told(lines))
    counted = settled([model(statement) for statement in named], [(standing, model(statement)) for standing, statement in told])
    if told and counted != {model(statement) for statement in named}:
        every = [statement for statement in (*named, *(statement for _, statement in told)) if model(statement) in counted]
        named = every if len(counted) == 1 else []
    if not named:
        earlier = list(_named(sentences_of_time(lines[:_FEW], _ABOUT)))
        mentioned = {match["name"].lower() for line in lines[:_FEW] for match in _MENTION.finditer(line.text)}
        named = earlier if len({statement.value.lower() for statement in earlier} | mentioned) == 1 else []
        if not named and len(mentioned) == 1:
            named = list(_named(line for line in lines[:_FEW] if _FAILS.search(line.text)))
        named = named or list(_named((line for line in lines[:_FEW] if _ORDERED.match(line.text)), (_OF_CLOUD,)))
    yield from named


def _told(lines: Sequence[Line]) -> Iterator[tuple[Standing, Statement]]:
    """Yield the GPUs of clauses that say whether something works with them."""
    for clause in clauses(lines, _ABOUT):
        yield from ((clause.standing, statement) for statement in _named([clause.line], _IN_CLAUSE))


def without_compared(named: Sequence[Statement], lines: Sequence[Line]) -> Sequence[Statement]:
    """Return the GPUs of a list, without those that sentences set against the one that fails."""
    counted = settled([model(statement) for statement in named], [(standing, model(statement)) for standing, statement in _told(lines)])
    return [statement for statement in named if model(statement) in counted]


def model(statement: Statement) -> str:
    """Return what tells a GPU's name from others: people leave out its brand."""
    return _BRAND.sub("", statement.value.lower()).replace(" ", "")


def _named(lines: Iterable[Line], forms: Sequence[re.Pattern[str]] = _FORMS) -> Iterator[Statement]:
    for line in lines:
        found = (match for form in forms for match in form.finditer(line.text))
        mentions = sorted(found, key=lambda match: match.start())
        between = (line.text[match.end("name") : other.start()] for match, other in itertools.pairwise(mentions))
        mark = LISTED if len(mentions) > 1 and all(_AND.fullmatch(words) for words in between) else "."
        for number, mention in enumerate(mentions):
            yield Statement(f"gpu prose:{line.number}{mark}{number}", _one(mention["name"]), SENTENCE, line.number, Rank.PROSE)


def _one(name: str) -> str:
    """Return the name of one of several: "Tesla P40s" are of the model P40, and an L40S is a model of its own."""
    return name[:-1] if name[-2:-1].isdigit() and name.endswith("s") else name


READER = Reader(
    SENTENCE,
    forms=(
        Form("other gpu", rf"(?i)\bgpu(?: model)?: {{0,2}}(?P<value>{INTEL_GPU})", Rank.PROSE),
        Form("other gpu", rf"(?i)\b(?:integrated|only (?:an?|the)) (?P<value>{INTEL_GPU})", Rank.PROSE),
    ),
    blocks=_blocks,
)
