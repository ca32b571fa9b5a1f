"""Reads names of GPUs in sentences: "on my RTX 5090", "8xH100". They count only if nothing more direct names a GPU, and all name one model or one sentence lists them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.outcomes import ClauseMeaning, meaningful_clauses, values_at_issue
from gpudoctor.read.readers.reader import INTEL_GPU_FORM, Reader, StatementForm
from gpudoctor.read.readers.sentences import SENTENCE_READER, own_sentences, sentences_of_time
from gpudoctor.read.statements import Directness, Line, Statement

GPU = (
    r"(?:RTX|GTX|GT|MX)[ -]?(?:PRO )?A?\d{3,4}M?(?: ?Ti\b)?(?: ?SUPER\b)?(?: PRO\b)?(?: Laptop\b| Ada\b)?"
    r"|(?:(?<=GeForce )|(?<=NVIDIA ))[89]\d{2}MX?\b|(?:[2-5]0[5-9]0|10[5-8]0|16[56]0) ?(?:Ti|SUPER)\b(?: ?SUPER\b)?"
    r"|Quadro (?:RTX )?[A-Z]{0,2}\d{3,4}M?|(?:GTX )?TITAN (?:RTX|Xp|X(?: \(?Pascal\b\)?)?|V|Z|Black)(?![a-z])|Tesla [PVKTMC]\d{1,4}(?:Xm|[a-zS])?|Jetson (?:AGX |Orin )?(?:Orin|Xavier|Nano|Thor|TX\d)(?: NX| Nano)?"
    r"|(?:A100|A800|H100|H200|H800|H20|B200|B300|GH200|GB200|GB10|DGX Spark|V100|P100|L40S?|A10G?(?!-\d{4})|A30|A40|A6000|A5000)"
)
_GPU_MENTION = expression(
    rf"(?i)(?<![a-z0-9_.-])(?:\d{{1,2}} ?[x\u00d7*] ?)?(?:NVIDIA |GeForce ){{0,2}}(?P<name>{GPU})s?(?![a-z0-9_.]*[a-z0-9_])"
)
"""In Chinese no space stands before or after a name."""
_FAILING_GPU = expression(
    rf"(?i)(?<![a-z0-9_.-])(?:{GPU})s?(?: cards?| gpus?)? (?:gets?|got|fails?|failed|crash(?:es|ed)?|throws?|threw|worked|stopped|used to work|no longer|is not|isn't|not)\b"
)
"""What somebody says of a GPU that does not work, or did until now, whose it may be: it counts if the text names no other."""
_BARE_NUMBER = expression(
    r"(?i)\b(?:(?:my|an?|single|dual|\dx) (?:nvidia )?|nvidia )(?P<name>(?:[2-5]0[5-9]0|10[5-8]0|16[56]0)(?: ?Ti\b)?(?: ?super\b)?|9[1-4]0MX)(?![\w.])"
)

_BOARD_NAME = expression(
    r"(?i)\b(?:my|our|an?|old|new|single|dual|two|four|nvidia|on|\d ?x) (?P<name>[TLP]4|K20X?|K40[cmst]?|K80|M10|M40|M60|P40|L40S?)(?: GPUs?| cards?)?(?![\w.=/-])"
)
"""Boards whose names are too short to stand alone."""
_CLOUD_NAME = expression(
    r"(?i)(?<![a-z0-9_.-])nvidia-?(?:tesla-?)?(?P<name>[TLP]4|K80|P100|V100|[AH]100|H200|B200)(?:-\d{2,3}gb)?(?![a-z0-9_.]*[a-z0-9_])"
)
"""As clouds call them: nvidia-tesla-t4, NvidiaTeslaP100, https://cloud.google.com/compute/docs/gpus."""
_ORDERED_GPU = expression(
    r"(?i)^[\s\"'-]{0,12}(?:[\w.-]{1,40}/(?:gke-)?)?(?:accelerators?(?:_?type)?|gpu[_-]?type|machine_shape)[\"']?\s?[:=]"
)
"""The entry of a job's settings that orders a GPU."""

_GPU_FORMS = (_GPU_MENTION, _BARE_NUMBER, _BOARD_NAME, _CLOUD_NAME)
_BARE_IN_CLAUSE = expression(
    r"(?i)(?:^\W{0,4}|\b(?:with|on|the|in|old|new|mine(?: is)?|of|to)\W{1,3}(?:an? |the )?)(?P<name>(?:[2-5]0[5-9]0|10[5-8]0|16[56]0)(?: ?Ti\b)?(?: ?super\b)?)(?![\w.])"
)
_CLAUSE_FORMS = (*_GPU_FORMS, _BARE_IN_CLAUSE)
"""In a sentence that compares a model's number is enough."""
_BRAND_WORDS = expression(r"\b(?:rtx|gtx|geforce|nvidia|tesla|quadro)\b[ -]?")
_CONJUNCTION = expression(
    r"(?i)[\s,&+]{0,3}(?:(?:and|plus|with|an?|one|two|three|four|the|another|x|\d{1,2}|nvidia|geforce)[\s,&+x*]{1,3}){0,5}"
)
"""What stands between two GPUs of a list."""
_MAX_LINES = 200
"""Lines of a text whose every mention of a GPU is looked for."""
LIST_MARK = "+"
"""What marks a GPU that a sentence lists with others."""

_GPU_WORDS = ("0", "rtx", "gtx", "quadro", "titan", "tesla", "jetson", "t4", "l4", "p4")
"""What every name has."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the GPUs of the writer's sentences; if there are none, the only one that the writer says to have or to have had."""
    named = list(_gpu_statements(own_sentences(lines, _GPU_WORDS)))
    told = list(_clause_statements(lines))
    counted = values_at_issue(
        [model_key(statement) for statement in named], [(standing, model_key(statement)) for standing, statement in told]
    )
    if told and counted != {model_key(statement) for statement in named}:
        every = [statement for statement in (*named, *(statement for _, statement in told)) if model_key(statement) in counted]
        named = every if len(counted) == 1 else []
    if not named:
        earlier = list(_gpu_statements(sentences_of_time(lines[:_MAX_LINES], _GPU_WORDS)))
        mentioned = {match["name"].lower() for line in lines[:_MAX_LINES] for match in _GPU_MENTION.finditer(line.text)}
        named = earlier if len({statement.value.lower() for statement in earlier} | mentioned) == 1 else []
        if not named and len(mentioned) == 1:
            named = list(_gpu_statements(line for line in lines[:_MAX_LINES] if _FAILING_GPU.search(line.text)))
        named = named or list(_gpu_statements((line for line in lines[:_MAX_LINES] if _ORDERED_GPU.match(line.text)), (_CLOUD_NAME,)))
    yield from named


def _clause_statements(lines: Sequence[Line]) -> Iterator[tuple[ClauseMeaning, Statement]]:
    """Yield the GPUs of clauses that say whether something works with them."""
    for clause in meaningful_clauses(lines, _GPU_WORDS):
        yield from ((clause.meaning, statement) for statement in _gpu_statements([clause.line], _CLAUSE_FORMS))


def without_compared_gpus(named: Sequence[Statement], lines: Sequence[Line]) -> Sequence[Statement]:
    """Return the GPUs of a list, without those that sentences set against the one that fails."""
    counted = values_at_issue(
        [model_key(statement) for statement in named],
        [(standing, model_key(statement)) for standing, statement in _clause_statements(lines)],
    )
    return [statement for statement in named if model_key(statement) in counted]


def model_key(statement: Statement) -> str:
    """Return what tells a GPU's name from others: people leave out its brand."""
    return _BRAND_WORDS.sub("", statement.value.lower()).replace(" ", "")


def _gpu_statements(lines: Iterable[Line], forms: Sequence[re.Pattern[str]] = _GPU_FORMS) -> Iterator[Statement]:
    for line in lines:
        found = (match for form in forms for match in form.finditer(line.text))
        mentions = sorted(found, key=lambda match: match.start())
        between = (line.text[match.end("name") : other.start()] for match, other in itertools.pairwise(mentions))
        mark = LIST_MARK if len(mentions) > 1 and all(_CONJUNCTION.fullmatch(words) for words in between) else "."
        for number, mention in enumerate(mentions):
            yield Statement(
                f"gpu prose:{line.number}{mark}{number}", _singular_name(mention["name"]), SENTENCE_READER, line.number, Directness.PROSE
            )


def _singular_name(name: str) -> str:
    """Return the name of one of several: "Tesla P40s" are of the model P40, and an L40S is a model of its own."""
    return name[:-1] if name[-2:-1].isdigit() and name.endswith("s") else name


READER = Reader(
    SENTENCE_READER,
    forms=(
        StatementForm("other gpu", rf"(?i)\bgpu(?: model)?: {{0,2}}(?P<value>{INTEL_GPU_FORM})", Directness.PROSE),
        StatementForm("other gpu", rf"(?i)\b(?:integrated|only (?:an?|the)) (?P<value>{INTEL_GPU_FORM})", Directness.PROSE),
    ),
    blocks=_statements,
)
