"""Finds which lines of a text describe a machine or an environment that works, where the text compares it with one that does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.read.statements import Line, Statement

_MAX_HEADING = 90
"""Characters of a heading."""
_FEW_WORDS = 2
"""Spaces from which a heading about the time has to name what it is about."""
_MAX_ITEM = 200
_LIST_ITEM = expression(r"\s{0,8}(?:[-*+\u2022] |\d{1,2}[.)] |[^\n.]{3,120}?(?:: | -+> | \u2192 | => | [-\u2013\u2014] )[^\n.]{2,60}$)")
"""A line of a list, or one that ends with an outcome."""
_MAY_BE_ITEM = expression(r"[-:>*+\u2022.)\u2192\u2013\u2014] ")
"""What every such line has: most lines need no search for its parts."""
_COMPARABLE_WORDS = expression(r"(?i)\b(?:[RG]TX|driver|torch|pytorch|tensorflow|tf|jax|cuda|[AHVL]\d{2,3}|T4)\b[ -]?\d?")
_SENTENCE_WORDS = expression(r"(?i)^(?:i|we|it|this|that|my|the)\b|\b(?:is|are|was|has|have|i|we)\b")
_FAILURE_WORDS = expression(
    r"(?i)\b(?:fail(?:s|ed|ing|ure)?|broken|breaks?|bad|crash(?:es|ed|ing)?|non-?working|not (?:work\w*|ok|found|detected|available)|(?:does|did)(?:n't| not) work\w*|no longer works?|faulty|affected)\b"
)
_SUCCESS_WORDS = expression(
    r"(?i)\b(?:works|worked|working(?! (?:dir|folder|tree|set))|good|ok|fine|healthy|unaffected|success\w*|fixed|solved|resolved)\b"
)
_EARLIER_WORDS = expression(r"(?i)\b(?:before|old|older|previous(?:ly)?|formerly|earlier|original(?:ly)?)\b")
_LATER_WORDS = expression(r"(?i)\b(?:after(?:wards)?|new|newer|now|current(?:ly)?|today|since)\b")
_ENVIRONMENT_WORDS = (
    r"(?:env(?:ironment)?s?|machines?|set-?ups?|servers?|hosts?|nodes?|laptops?|desktops?|computers?|pcs?|systems?|config(?:uration)?s?|install(?:ation)?s?|versions?|containers?|images?|drivers?|clusters?"
    r"|workstations?|box|vms?|upgrade|update|downgrade|reinstall\w*|case|run|state|packages?|combination)"
)
_ENVIRONMENT_FORM = expression(rf"(?i)\b{_ENVIRONMENT_WORDS}\b")
_CHANGE_HEADING = expression(r"(?i)^(?:before|after) (?!submitting|posting|reporting|opening|creating|asking|you\b|we\b)")
"""How a heading begins that speaks of a change, and not of the form that it is in."""
_LABEL_FORM = expression(r"(?P<label>[^:=\n]{3,60}?)[*_`]{0,3}:(?:[*_`]{0,3}\s|$)")
_OUTCOME_BEGINNING = expression(
    r"(?i)(?:works|worked|working|good|fine|ok|fails|failing|failed|broken|bad|not working|before|after|old|new|previous(?:ly)?|now)\b(?: \w+){0,2}"
)
"""The whole label of a line that goes on behind it."""
_MARKDOWN_HEADING = expression(r"(#{1,6}) ")
_HEADING_MARGIN = " \t>*+_`\u2022-#"
_COMPARED_FACTS = frozenset(
    (
        "gpu",
        "gpu prose",
        "driver",
        "package",
        "version",
        "conda",
        "toolkit",
        "cudnn",
        "cuda served",
        "torch cuda",
        "torch requested cuda",
        "os",
        "python",
        "kernel",
    )
)
"""Facts that a comparison is about."""


class _OutcomeSection(NamedTuple):
    works: bool
    first: int
    """Number of its heading's line, which may state something too."""
    end: int
    """Number of the first line behind it."""


def lines_of_working_machine(lines: Sequence[Line], faults: Collection[int]) -> list[Line]:
    """Return the lines about what works; none unless others are about what fails. `faults` are the numbers of lines with an error."""
    sections = list(_outcome_sections(lines, faults))
    fine = [section for section in sections if section.works]
    if not fine or len(fine) == len(sections):
        return _lines_of_working_items(lines, faults)
    return [line for line in lines if any(section.first <= line.number < section.end for section in fine)]


def _lines_of_working_items(lines: Sequence[Line], faults: Collection[int]) -> list[Line]:
    """Return the items of a list about what works; none unless other items are about what fails."""
    said = [
        (line, outcome_of_words(line.text))
        for line in lines
        if len(line.text) <= _MAX_ITEM
        and _MAY_BE_ITEM.search(line.text)
        and _LIST_ITEM.match(line.text)
        and _COMPARABLE_WORDS.search(line.text)
    ]
    fine = [line for line, works in said if works and line.number not in faults]
    return fine if len(fine) < sum(works is not None for _, works in said) else []


def has_common_fact(works: Iterable[Statement], fails: Iterable[Statement]) -> bool:
    """Return whether both state one kind of fact: only then is one of them about another environment."""
    kinds = ({statement.what.partition(":")[0] for statement in some} & _COMPARED_FACTS for some in (works, fails))
    return not set.isdisjoint(*kinds)


def _outcome_sections(lines: Sequence[Line], faults: Collection[int]) -> Iterator[_OutcomeSection]:
    """Yield what stands below each heading that says whether something works, up to the next one, or to an error below what works."""
    works, first, depth = False, 0, 0
    for line in lines:
        heading = None if line.number in faults else _outcome_of_heading(line.text)
        mark = _MARKDOWN_HEADING.match(line.text)
        over = mark is not None and (not depth or len(mark[1]) <= depth) and (depth or len(mark[1]) > 1)
        if first and (heading is not None or over or (works and line.number in faults)):
            yield _OutcomeSection(works, first, line.number)
            first = 0
        if heading is not None:
            works, first, depth = heading, line.number, len(mark[1]) if mark else 0
    if first:
        yield _OutcomeSection(works, first, lines[-1].number + 1)


def _outcome_of_heading(text: str) -> bool | None:
    """Return whether a heading is about what works; None for any other line. What it says of the outcome counts more than of the time."""
    if len(text) > 3 * _MAX_HEADING or (len(text) > _MAX_HEADING // 2 and ":" not in text and text[:1] not in {"#", "*"}):
        return None
    plain = text.strip(_HEADING_MARGIN)
    label = _LABEL_FORM.match(plain)
    if label:
        named = label["label"] if label.end() == len(plain) or _OUTCOME_BEGINNING.fullmatch(label["label"]) else ""
    else:
        named = plain.rstrip(":") if text.startswith(("#", "**")) or _is_title(plain) else ""
    if not named or len(named) > _MAX_HEADING:
        return None
    said = outcome_of_words(named)
    if said is not None:
        return said
    about_time = named.count(" ") < _FEW_WORDS or any(form.search(named) for form in (_ENVIRONMENT_FORM, _CHANGE_HEADING))
    forms = ((True, _EARLIER_WORDS), (False, _LATER_WORDS)) if about_time else ()
    return next((answer for answer, words in forms if words.search(named)), None)


def outcome_of_words(words: str) -> bool | None:
    """Return whether some words say that something works; None if they say nothing of it."""
    return next((answer for answer, form in ((False, _FAILURE_WORDS), (True, _SUCCESS_WORDS)) if form.search(words)), None)


def _is_title(plain: str) -> bool:
    """Return whether a line without a colon is a heading: a few words about an environment, and no sentence."""
    return (
        len(plain) <= _MAX_HEADING // 2
        and plain[-1:] not in ".?!,;"
        and _ENVIRONMENT_FORM.search(plain) is not None
        and not _SENTENCE_WORDS.search(plain)
    )
