"""Reads what Python prints when it is asked for versions and devices: the answers stand on the lines after the questions, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.frameworks import MISTAKEN
from gpudoctor.read.readers.reader import RELEASE, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "Python session"
_BOOLEAN = r"(?:(?:it |i )?(?:returns?|gives?|gets?|got|says?|prints?):? {1,2})?(?P<value>(?i:True|False))\b"
_LIST_GPUS = r"\btf\.config\.(?:experimental\.)?list_physical_devices\(['\"]GPU['\"]\)"
_LATER = 4
"""Lines between a question and its answer that may be warnings."""


_ON_A_NODE = expression(r"^\W{0,4}(?:[\w.@:~/-]{1,60}[$#%>] {0,2})?(?:srun|mpirun|mpiexec|jsrun|ibrun)\b")
"""A command that a scheduler runs where training would run, unlike the shell in which it was typed."""


class _Question(NamedTuple):
    asked: str
    """The expression."""
    what: str
    answer: str


_QUESTIONS = (
    _Question(r"\b(?P<module>torch|tensorflow|tf|jax|jaxlib|numpy|np|torchvision|torchaudio|keras)\.__version__", "version", RELEASE),
    _Question(
        r"\b(?P<module>torch|tensorflow|tf|jax)\.__(?:file|path)__",
        "location",
        r"\[?'?(?P<value>(?:/|[A-Za-z]:\\)[^'\"\n]{3,300}?)[/\\]{1,2}(?:torch|tensorflow|jax)(?:[/\\]{1,2}__init__\.pyc?)?(?='|\"|\)|\s|$)",
    ),
    _Question(r"\btorch\.version\.cuda\b", "torch cuda", r"(?P<value>\d{1,2}\.\d{1,2}(?:\.\d{1,4})?|None)\b"),
    _Question(r"\btorch\.cuda\.is_available\(\)", "torch devices", _BOOLEAN),
    _Question(
        r"\btorch\.cuda\.get_device_name\(\w*\)",
        "gpu:0",
        r"(?P<value>(?:NVIDIA|Tesla|GeForce|Quadro|TITAN|GRID|[A-Z]\d{2,3}\b)[^'\"\n]{0,60})",
    ),
    _Question(r"\btorch\.cuda\.get_arch_list\(\)", "torch architectures", r"\[(?P<value>'sm_[\w', ]{3,300})\]"),
    _Question(r"\btorch\.cuda\.device_count\(\)", "torch count", r"(?P<value>\d{1,3})\b"),
    _Question(r"\btorch\.backends\.cudnn\.version\(\)", "", r"(?P<value>\d{4,6}|None)\b"),
    _Question(r"\b(?:tf|tensorflow)\.test\.is_built_with_cuda\(\)", "tensorflow cuda", r"(?P<value>False)\b|True\b"),
    _Question(r"\b(?:tf|tensorflow)\.test\.is_gpu_available\(\)", "tensorflow devices", _BOOLEAN),
    _Question(rf"\blen\({_LIST_GPUS}\)", "tensorflow devices", r"(?P<value>\d{1,2})\b"),
    _Question(
        rf"(?<!len\(){_LIST_GPUS}",
        "tensorflow devices",
        r"(?:[\w ]{0,20}\ban )?(?P<value>\[\]|\[PhysicalDevice|empty list)",
    ),
    _Question(r"\bxla_bridge\.get_backend\(\)\.platform\b", "jax devices", r"(?P<value>cpu|gpu|cuda)\b"),
    _Question(r"\bjax\.devices\(\)", "jax devices", r"\[(?P<value>(?:Cuda|Cpu|Gpu)Device|cuda|gpu|cpu)"),
)
_CUES = (
    "__version__",
    ".__file__",
    ".__path__",
    "torch.cuda.",
    "torch.version.",
    "torch.backends.",
    "tf.test.",
    "tf.config.",
    "tensorflow.test.",
    "jax.devices(",
    "xla_bridge.",
)
"""One of them is in each question; tested before the expressions."""
_MODULES = {**MISTAKEN, "np": "numpy"}


def _blocks(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the answers in the text; of one question that was asked on a node and elsewhere, only the node's."""
    found = list(_answers(lines))
    of_nodes = {statement.what for on_node, statement in found if on_node}
    yield from (statement for on_node, statement in found if on_node or statement.what not in of_nodes)


def _answers(lines: Sequence[Line]) -> Iterator[tuple[bool, Statement]]:
    """Yield the answers to the questions in the text, each with whether a command on a node gave it."""
    text = "\n".join(line.text for line in lines)
    cues = [cue for cue in _CUES if cue in text]
    if not cues:
        return
    pending: list[tuple[str, str]] = []
    silent, on_node = 0, False
    for line in lines:
        asked = _questions(line.text) if any(cue in line.text for cue in cues) else []
        if asked:
            on_node = _ON_A_NODE.search(line.text) is not None
            if beside := list(_beside(asked, line)):
                yield from ((on_node, one) for one in beside)
                continue
            pending = [*pending, *asked] if silent == 0 else asked
            silent = 0
            continue
        if not pending or line.text.lstrip().startswith(("```", "import ", ">>> import", "print(")):
            continue
        taken = list(_taken(pending, line))
        yield from ((on_node, one) for one in taken)
        silent = 0 if taken else silent + 1
        if silent > _LATER or line.text.startswith(("$", ">>> ")):
            pending = []


def _beside(asked: list[tuple[str, str]], line: Line) -> Iterator[Statement]:
    """Yield the answer to the one question of a line that a comment behind it repeats: "torch.cuda.is_available()  # False"."""
    comment = line.text.rpartition("#")[2]
    if len(asked) == 1 and comment != line.text:
        yield from _taken(list(asked), msgspec.structs.replace(line, text=comment))


def _questions(text: str) -> list[tuple[str, str]]:
    """Return the key and the form of the answer to each question of a line, in order; none where the answer stands on the same line."""
    found = sorted((match.start(), match, one) for one in _QUESTIONS for match in re.finditer(one.asked, text))
    questions = []
    for _, match, one in found:
        module = match.groupdict().get("module")
        what = f"{one.what}:{_MODULES.get(module, module)}" if module else one.what
        questions.append((what, one.answer))
    return questions


def _taken(pending: list[tuple[str, str]], line: Line) -> Iterator[Statement]:
    """Yield the answers on a line, and take their questions off the list; none if something else follows on the line."""
    rest, count = line.text, 0
    statements = []
    while count < len(pending):
        what, answer = pending[count]
        match = re.match(rf"(?:Out\[\d{{1,5}}\]:)?[\s('\",#]{{0,6}}{answer}", rest)
        if match is None:
            break
        if what and match["value"]:
            statements.append(Statement(what, match["value"].strip(), _NAME, line.number, Rank.TOOL))
        rest, count = rest[match.end() :], count + 1
    if count and (not rest.strip("\t )'\",].") or "PhysicalDevice" in rest or "Device(" in rest):
        del pending[:count]
        yield from statements


READER = Reader(_NAME, blocks=_blocks)
