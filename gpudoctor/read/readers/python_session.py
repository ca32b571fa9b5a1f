"""Reads what Python prints when it is asked for versions and devices: the answers stand on the lines after the questions, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN
from gpudoctor.read.glossary import english_sentence
from gpudoctor.read.readers.reader import RELEASE_FORM, Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "Python session"
_BOOLEAN_ANSWER = r"(?:(?:it |i )?(?:returns?|gives?|gets?|got|says?|prints?):? {1,2})?(?P<value>(?i:True|False))\b"
_TENSORFLOW_NAME = r"\b(?:tf|tensorflow)[.$]"
"""In R, whose packages call the same functions, a dollar stands for the dot."""
_LIST_GPUS_CALL = rf"{_TENSORFLOW_NAME}config[.$](?:experimental[.$])?list_physical_devices\(['\"]GPU['\"]\)"
_MAX_SILENT_LINES = 4
"""Lines between a question and its answer that may be warnings."""


_NODE_COMMAND = expression(r"^\W{0,4}(?:[\w.@:~/-]{1,60}[$#%>] {0,2})?(?:srun|mpirun|mpiexec|jsrun|ibrun)\b")
"""A command that a scheduler runs where training would run, unlike the shell in which it was typed."""


class _Question(NamedTuple):
    asked: str
    """The expression."""
    what: str
    answer: str


_KNOWN_QUESTIONS = (
    _Question(r"\b(?P<module>torch|tensorflow|tf|jax|jaxlib|numpy|np|torchvision|torchaudio|keras)\.__version__", "version", RELEASE_FORM),
    _Question(
        r"\b(?P<module>torch|tensorflow|tf|jax)\.__(?:file|path)__",
        "location",
        r"\[?'?(?P<value>(?:/|[A-Za-z]:\\)[^'\"\n]{3,300}?)[/\\]{1,2}(?:torch|tensorflow|jax)(?:[/\\]{1,2}__init__\.pyc?)?(?='|\"|\)|\s|$)",
    ),
    _Question(r"\btorch\.version\.cuda\b", "torch cuda", r"(?P<value>\d{1,2}\.\d{1,2}(?:\.\d{1,4})?|None)\b"),
    _Question(r"\btorch\.cuda\.is_available\(\)", "torch devices", _BOOLEAN_ANSWER),
    _Question(
        r"\btorch\.cuda\.get_device_name\(\w*\)",
        "gpu:0",
        r"(?P<value>(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID|[A-Z]\d{2,3}\b)[^'\"\n]{0,60})",
    ),
    _Question(r"\btorch\.cuda\.get_arch_list\(\)", "torch architectures", r"\[(?P<value>'sm_[\w', ]{3,300})\]"),
    _Question(r"\btorch\.cuda\.device_count\(\)", "torch count", r"(?P<value>\d{1,3})\b"),
    _Question(r"\btorch\.backends\.cudnn\.version\(\)", "", r"(?P<value>\d{4,6}|None)\b"),
    _Question(rf"{_TENSORFLOW_NAME}test[.$]is_built_with_cuda\(\)", "tensorflow cuda", r"(?P<value>(?i:False))\b|(?i:True)\b"),
    _Question(rf"{_TENSORFLOW_NAME}test[.$]is_gpu_available\(\)", "tensorflow devices", _BOOLEAN_ANSWER),
    _Question(rf"{_TENSORFLOW_NAME}test[.$]gpu_device_name\(\)", "tensorflow devices", r"(?P<value>''|\"\"|/device:GPU:\d)"),
    _Question(rf"\blen\({_LIST_GPUS_CALL}\)", "tensorflow devices", r"(?P<value>\d{1,2})\b"),
    _Question(
        rf"(?<!len\(){_LIST_GPUS_CALL}",
        "tensorflow devices",
        r"(?:[\w ]{0,20}\ban )?(?P<value>\[ ?\]|\[PhysicalDevice|empty list|list\(\))",
    ),
    _Question(r"\bxla_bridge\.get_backend\(\)\.platform\b", "jax devices", r"(?P<value>cpu|gpu|cuda)\b"),
    _Question(
        r"\bos\.environ(?:\.get\(|\[)['\"](?P<module>[A-Z][A-Z0-9_]{2,50})['\"][\])](?!\s{0,3}=)|\bos\.getenv\(['\"](?P<name>[A-Z][A-Z0-9_]{2,50})['\"]\)",
        "variable",
        r"(?P<value>(?<=['\"])[^'\"\n]{0,1000}(?=['\"])|-?\d[\d,]{0,40}$)",
    ),
    _Question(r"\bjax\.devices\(\)", "jax devices", r"\[(?P<value>(?:Cuda|Cpu|Gpu)Device|cuda|gpu|cpu)"),
)
_QUESTION_CUES = (
    "__version__",
    ".__file__",
    ".__path__",
    "torch.cuda.",
    "torch.version.",
    "torch.backends.",
    "tf.test.",
    "tf.config.",
    "tensorflow.test.",
    "tf$test$",
    "tf$config$",
    "jax.devices(",
    "xla_bridge.",
    "os.environ",
    "os.getenv",
)
"""One of them is in each question; tested before the expressions."""
_PACKAGE_BY_MODULE = {**MISTAKEN, "np": "numpy"}


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the answers in the text; of one question that was asked on a node and elsewhere, only the node's."""
    found = list(_located_answers(lines))
    of_nodes = {statement.what for on_node, statement in found if on_node}
    yield from (statement for on_node, statement in found if on_node or statement.what not in of_nodes)


def _located_answers(lines: Sequence[Line]) -> Iterator[tuple[bool, Statement]]:
    """Yield the answers to the questions in the text, each with whether a command on a node gave it."""
    text = "\n".join(line.text for line in lines)
    cues = [cue for cue in _QUESTION_CUES if cue in text]
    if not cues:
        return
    pending: list[tuple[str, str]] = []
    silent, on_node = 0, False
    for line, following in zip_longest(lines, lines[1:]):
        asked = [(what, answer) for _, what, answer in _questions_of_line(line.text)] if any(cue in line.text for cue in cues) else []
        if asked:
            on_node = _NODE_COMMAND.search(line.text) is not None
            if beside := list(_answers_on_line(line, following)):
                yield from ((on_node, statement) for statement in beside)
                continue
            pending = [*pending, *asked] if silent == 0 else asked
            silent = 0
            continue
        if not pending or line.text.lstrip().startswith(("```", "import ", ">>> import", "print(")):
            continue
        taken = list(_pending_answers(pending, line))
        yield from ((on_node, statement) for statement in taken)
        silent = 0 if taken else silent + 1
        if silent > _MAX_SILENT_LINES or line.text.startswith(("$", ">>> ")):
            pending = []


_ANSWER_SEPARATOR = expression(
    r"(?i)[)'\"`\]}*]{0,6}\s{0,4}(?:[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{1,6}\s{0,4})?"
    r"(?:(?:[:=#]|->|=>|\u2192|(?:and |but |, )?(?:it |I |we )?(?:always |still |just |only )?(?:is|was|gets?|got|returns?|returned|gives?|gave|prints?|printed|says|said|shows?|showed|outputs?))[:`'\"*]{0,3}\s{0,4}|(?<=\s))"
)
"""What stands between a question and an answer on the same line."""


_UNFINISHED_ANSWER = expression(
    r"\b(?:is|gets?|got|returns?|returned|gives?|gave|prints?|printed|says|said|shows?|showed|outputs?)[:`'\"]{0,2}$"
)

_ANSWER_BEFORE = expression(
    r"(?i)(?<!not )(?<!n't )(?<!cannot )(?<!never )(?<!should )(?<!to )\b(?:gets?|got|returned|returns|printed|prints|shows|showed|sees?|saw) (?:an? |still |only |just |always )?"
    r"(?P<value>True|False) (?:with|from|for|in|by|when (?:\w{1,2} )?(?:run|call)(?:s|ning|ing)?)[`'\" ]{1,3}$"
)
"""An answer before its question: "I get True with torch.cuda.is_available()"."""


def _answers_on_line(line: Line, following: Line | None) -> Iterator[Statement]:
    """Yield the answers that stand beside their questions on one line: "torch.cuda.is_available()  # False"; the last may be wrapped to the next."""
    text = english_sentence(line.text)
    if following and _UNFINISHED_ANSWER.search(text):
        text = f"{text} {following.text.strip()}"
    asked = _questions_of_line(text)
    for number, (match, what, answer) in enumerate(asked):
        end = asked[number + 1][0].start() if number + 1 < len(asked) else len(text)
        says = _ANSWER_SEPARATOR.match(text, match.end(), end)
        found = re.compile(rf"['\"(`]{{0,2}}{answer}").match(text, says.end(), end) if says else None
        if found is None and answer == _BOOLEAN_ANSWER:
            found = _ANSWER_BEFORE.search(text[: match.start()])
        if what and found and _is_answer(what, found["value"]):
            yield Statement(what, found["value"].strip(), _NAME, line.number, Directness.TOOL)


def _is_answer(what: str, value: str | None) -> bool:
    """Return whether a value answers a question: a variable may be empty."""
    return bool(value) or (value is not None and what.startswith("variable:"))


def _questions_of_line(text: str) -> list[tuple[re.Match[str], str, str]]:
    """Return the questions of a line in order, each with its key and the form of its answer."""
    found = sorted(
        ((match.start(), match, question) for question in _KNOWN_QUESTIONS for match in re.finditer(question.asked, text)),
        key=lambda row: row[0],
    )
    return [(match, _question_key(match, question), question.answer) for _, match, question in found]


def _question_key(match: re.Match[str], asked: _Question) -> str:
    about = next((name for name in match.groupdict().values() if name), None)
    return f"{asked.what}:{_PACKAGE_BY_MODULE.get(about, about)}" if about else asked.what


def _pending_answers(pending: list[tuple[str, str]], line: Line) -> Iterator[Statement]:
    """Yield the answers on a line, and take their questions off the list; none if something else follows on the line."""
    rest, count = line.text, 0
    statements = []
    while count < len(pending):
        what, answer = pending[count]
        match = re.match(rf"(?:Out\[\d{{1,5}}\]:)?[\s('\",#]{{0,6}}{answer}", rest)
        if match is None:
            break
        if what and _is_answer(what, match["value"]):
            statements.append(Statement(what, match["value"].strip(), _NAME, line.number, Directness.TOOL))
        rest, count = rest[match.end() :], count + 1
    if count and (not rest.strip("\t )'\",].") or "PhysicalDevice" in rest or "Device(" in rest):
        del pending[:count]
        yield from statements


READER = Reader(_NAME, blocks=_statements)
