"""Reads lines that list what a machine has: "RTX 3090, torch 2.1.0+cu118, CUDA 11.8", "Windows 11 / Python 3.12", "Tesla P40"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN, framework_of
from gpudoctor.read.readers.field_keys import SYSTEMS
from gpudoctor.read.readers.gpu_prose import GPU, without_compared_gpus
from gpudoctor.read.readers.package_tables import is_known_package
from gpudoctor.read.readers.reader import DRIVER_BRANCH_FORM, Reader
from gpudoctor.read.readers.sentences import GENERAL_WORDS, sentences
from gpudoctor.read.statements import Directness, Line, Statement

_MAX_LINES, _MAX_SENTENCE = 2000, 200
"""Lines of a text, and characters of a sentence, that are looked at: longer ones are logs."""
_ITEM_SEPARATOR = expression(
    r"^(?:pip|conda|mamba) (?:list|freeze):? |\s{0,4}[,;|\u2022\u00b7]\s{0,4}|\s{1,4}(?:[/+&\u2013\u2014-]|and|with|on|under|using)\s{1,4}|:\s{1,4}(?!v?\d)"
    r"|(?<=\w)\s{1,4}(?=(?i:(?:py)?torch(?:vision|audio)?|tensorflow|jax|cuda(?:toolkit)?|cudnn|python|(?:nvidia )?driver|vllm|ubuntu)(?: ?={1,2} ?|: ?| )v?\d{1,3}\.\d)"
    # "Windows 11 RTX 3080", "RTX 3080 Windows 11"
    r"|(?i:(?<=\d)|(?<=pro)|(?<=home)|(?<=bit)|(?<=lts))\s{1,4}(?=(?i:(?:nvidia |geforce ){0,2}(?:rtx|gtx|tesla|quadro)\b))"
    r"|(?i:(?<=\d)|(?<=\dti)|(?<= ti)|(?<=super)|(?<=gb))\s{1,4}(?=(?i:win(?:dows)? ?(?:7|8|10|11)\b))"
)
_ITEM_ASIDE = expression(
    r" \((?i:(?:cuda )?compute capability|cc|sm)[ _:]{0,2}\d{1,2}\.?\d\)$|(?<=\d) \((?!\+?(?:cu\d|cpu|rocm))[^()]{1,60}\)$|(?<=\d),? (?:installed )?(?:from|via|by|through) (?:(?:ana|mini)conda|conda(?:-forge)?|mamba|pip|pypi|the nvidia channel|docker|poetry|uv)$"
)
_PARENTHESES = expression(r"\(([^()\n]{8,160})\)")
_CONDITION_WORDS = expression(r"(?i)^(?:or|if|than)$")
_EARLIER_WORDS = expression(r"(?i)\b(?:old|earlier|former|first|was|were|had|worked|trained|ran|before|until)\b")
_ITEM_CUE = expression(r"(?i)\d|jetson|titan|dgx spark")
_PACKAGE_ITEM = expression(
    r"(?i)(?P<name>[a-z][\w-]{1,40})(?:\[[\w,-]{2,30}\])?(?: \((?P<kind>cpu|gpu|pip|conda)\))?(?: version)?(?: ?={1,2} ?|: ?| )v?"
    r"(?P<value>\d{1,3}\.\w{1,8}(?:\.\w{1,12}){0,3}(?:-?rc\d)?)(?:[ +]{0,2}\(?\+?(?P<build>cu\d{2,3}|cpu|rocm\d\.\d)\)?)?(?:\[[\w,-]{2,30}\])?"
)
_CONDA_ITEM = expression(
    r"(?P<name>[a-z][\w-]{1,40}) (?P<value>\d{1,3}(?:\.\w{1,8}){1,3} (?:\w+_)?(?:cuda|cpu|gpu|mkl|py\d|h[0-9a-f]{7})[\w.]{0,60}(?: [\w-]{3,20})?)"
)
"""A package with its build, as conda lists it."""
_OWNER_BEGINNING = expression(r"^(?i:(?:I |we )?(?:have |am |are )?(?:install(?:ed)?|have|use|using|running|with|on)) (?=\S)")
"""How a sentence begins that lists what somebody has."""
_BUILT_WITH = expression(r"(?i)\b((?:py)?torch \d{1,2}\.\d{1,2}(?:\.\d{1,2})?) (?:with|built for|for) cuda (\d{1,2})\.(\d)\b")
_JOINED_NAME = expression(r"(?i)\b(tf|tensorflow(?:-gpu)?|(?:py)?torch|cuda|cudnn|python)-?(?=\d{1,2}\.\d)")
"""A name and its version without a space: TF2.4, CUDA-11.1."""
_ITEM_KINDS = tuple(
    (what, expression(pattern))
    for what, pattern in (
        ("toolkit", r"(?i)cuda(?: toolkit| runtime)?(?: version)?:? ?v?(?P<value>\d{1,2}\.\d)(?:\.\d{1,4})?"),
        ("cudnn", r"(?i)cudnn(?: version)?:? ?v?(?P<value>\d\.\d{1,2}(?:\.\d{1,3})?)"),
        ("driver", rf"(?i)(?:(?:nvidia[ -]|gpu )?driver(?: version)?:?[ -]|nvidia-(?=\d))v?(?P<value>\d{{3}}\.\d{{1,3}}(?:\.\d{{1,3}})?|{DRIVER_BRANCH_FORM})"),
        ("python", r"(?i)(?:c?python|py) ?(?:version )?v?(?P<value>3\.\d{1,2}(?:\.\d{1,2})?)(?: \(?64[- ]bit\)?)?"),
        ("jetpack", r"(?i)jetpack(?: sdk)? v?(?P<value>[4-7]\.\d(?:\.\d)?)"),
        ("architecture", r"(?P<value>x86_64|aarch64|arm64)"),
        ("torch devices", r"(?i)(?:torch\.)?(?:cuda[. ])?(?:is[_ ])?available(?:\(\))?(?:[:=]| returns| is|) ?(?P<value>true|false)"),
        ("platform:macos", r"(?i)(?P<value>(?:(?:macbook|mac ?mini|imac|mac studio|apple m\d)[\w ]{0,30}|m[1-5](?: (?:pro|max|ultra))?(?: mac(?:book)?)?))"),
        ("os", rf"(?i)(?P<value>{SYSTEMS}[\w .!-]{{0,40}})"),
        ("gpu prose", rf"(?i)(?:(?:an?|my|our|one|single|the) )?(?:\d{{1,2}} ?[x\u00d7*] ?)?(?:NVIDIA(?:'s)? |GeForce ){{0,2}}(?P<value>{GPU})(?:[ -]\(?(?:SXM\d?|PCIE?|NVL|HBM\d|\d{{1,3}} ?GI?B?(?: V?RAM| memory)?|G[A-Z]\d{{3}}|AD\d{{3}}|TU\d{{3}})\)?){{0,3}}(?: ?[x\u00d7]\d)?(?: (?:GPUs?|(?:graphics )?cards?|laptop|notebook|desktop|pc|workstation|server|node|machine|device|board|(?:developer |dev )?kit))?"),
    )
)  # fmt: skip


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the facts of lists. Of several lists that disagree about one thing none is used: they compare."""
    found: dict[str, list[Statement]] = {}
    for line in lines[:_MAX_LINES]:
        for sentence in sentences(line) if _ITEM_CUE.search(line.text) else ():
            for part in (sentence, *_sentences_in_parentheses(sentence), *_clauses_after_semicolon(sentence)):
                for what, statement in _facts_of_sentence(part).items():
                    found.setdefault(what, []).append(statement)
    gpus = [what for what in found if what.startswith("gpu prose:")]
    yield from without_compared_gpus([found.pop(what)[0] for what in gpus], lines) if gpus else ()
    for several in found.values():
        if len({statement.value.lower() for statement in several}) == 1:
            yield several[0]


def _sentences_in_parentheses(sentence: Line) -> Iterator[Line]:
    """Yield what a sentence that speaks of nobody else's machine says in parentheses: "our T4 runners (driver 550.90.12)"."""
    if (
        "(" in sentence.text
        and not _EARLIER_WORDS.search(sentence.text)
        and all(map(_CONDITION_WORDS.match, GENERAL_WORDS.findall(sentence.text)))
    ):
        yield from (msgspec.structs.replace(sentence, text=text) for text in _PARENTHESES.findall(sentence.text))


def _clauses_after_semicolon(sentence: Line) -> Iterator[Line]:
    """Yield what follows the last semicolon, as somebody adds to an error: "no kernel image is available; torch 2.9.0+cu128"."""
    _, semicolon, text = sentence.text.rpartition("; ")
    if semicolon and not _EARLIER_WORDS.search(sentence.text) and all(_is_known_item(part) for part in _listed_items(text)):
        yield msgspec.structs.replace(sentence, text=text)


def _facts_of_sentence(line: Line) -> dict[str, Statement]:
    """Return the facts of a sentence if it lists nothing else, or at least two and nothing that compares; of one thing the first, of Windows and WSL in it WSL."""
    if len(line.text) > _MAX_SENTENCE:
        return {}
    parts = _listed_items(line.text)
    facts = [list(_item_statements(part, line, place)) for place, part in enumerate(parts)]
    known = sum(map(_is_known_item, parts))
    is_list = known == len(parts) or (known > 1 and not GENERAL_WORDS.search(line.text))
    stated = [statement for several in reversed(facts) for statement in several] if is_list else []
    stated.sort(key=lambda statement: statement.what == "os" and statement.value.lower().startswith("wsl"))
    return {statement.what: statement for statement in stated}


def _listed_items(text: str) -> list[str]:
    """Return what a sentence lists, each without what stands beside it in parentheses."""
    text = _OWNER_BEGINNING.sub("", text.strip(" \t>*-#$.`"))
    text = _JOINED_NAME.sub(r"\1 ", text)
    text = _BUILT_WITH.sub(r"\1+cu\2\3", text)
    return [_ITEM_ASIDE.sub("", part).strip() or part for part in _ITEM_SEPARATOR.split(text) if part]


def _is_known_item(part: str) -> bool:
    return any(pattern.fullmatch(part) for pattern in (*(pattern for _, pattern in _ITEM_KINDS), _PACKAGE_ITEM, _CONDA_ITEM))


def _item_statements(part: str, line: Line, place: int) -> Iterator[Statement]:
    for what, pattern in _ITEM_KINDS:
        if match := pattern.fullmatch(part):
            key = f"{what}:list {line.number}.{place}" if what == "gpu prose" else what
            yield Statement(key, match["value"].strip(), READER.name, line.number, Directness.PROSE)
    in_conda = _CONDA_ITEM.fullmatch(part)
    if in_conda:
        yield Statement(f"conda:{in_conda['name']}", in_conda["value"], READER.name, line.number, Directness.LOG)
    package = _PACKAGE_ITEM.fullmatch(part)
    if package and (name := _package_name(package)):
        build = f"+{package['build']}" if package["build"] else ""
        what = "version" if framework_of(name) else "package"
        yield Statement(f"{what}:{name}", package["value"] + build, READER.name, line.number, Directness.LOG)


def _package_name(package: re.Match[str]) -> str:
    """Return the package's name; "" for a word that is none."""
    said = package["name"].lower()
    name = MISTAKEN.get(said, said)
    if (package["kind"] or "").lower() == "cpu" and is_known_package(f"{name}-cpu"):
        return f"{name}-cpu"
    return name if is_known_package(name) else ""


READER = Reader("list of versions", blocks=_statements)
