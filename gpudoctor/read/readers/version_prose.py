"""Reads versions of frameworks and drivers in sentences: "with torch 2.5.1+cu124", "driver 535.104.05". They count if all sentences name one version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from gpudoctor.expressions import expression
from gpudoctor.frameworks import CATALOGUE, MISTAKEN, TRAINED, framework_of
from gpudoctor.frameworks.torch import TORCH
from gpudoctor.read.east_asian import LETTERS
from gpudoctor.read.line_variants import is_announcement, is_verdict
from gpudoctor.read.readers.outcomes import ClauseMeaning, MeaningfulClause, meaningful_clauses, values_at_issue
from gpudoctor.read.readers.reader import DRIVER_BRANCH_FORM, Reader
from gpudoctor.read.readers.sentences import GENERAL_WORDS, SENTENCE_READER, is_advice, own_sentences, sentences
from gpudoctor.read.statements import Directness, Line, Statement
from gpudoctor.signatures.phrases import SUCCEEDS, WITHOUT_DENIAL

_PACKAGE_MENTION = expression(
    r"(?i)(?<![\w./+=-])(?P<name>tensorflow-gpu|tensorflow-cpu|tensorflow-macos|tensorflow|tf(?=[ -]?v?[12]\.\d)|pytorch|torchvision|torchaudio|torch|jaxlib|jax|vllm|flash-attn|xformers)(?: version)?(?: (?:is|shows?|reveals?|says?|prints?|returns?))?(?: {0,2}\u7684? {1,2}version(?: {1,2}is)?:?)?(?:[ =]{0,2}| \()v?"
    r"(?P<value>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:\+(?:cu\d{2,3}|cpu|rocm[\d.]{1,6}))?)(?![\w+*]|\.[\w*])"
)
_TORCH_BUILD = expression(
    r"(?i)\btorch\b[^\n]{0,80}?(?:\b(?:shows?|reveals?|says?|got|gives?|gave|prints?|printed|returns?|returned|is|was|to|reads?|version)\b|[=:])\W{1,4}"
    r"(?P<value>\d\.\d{1,2}\.\d{1,2}\+(?:cu\d{2,3}|cpu))(?![\w+])"
)
"""A build that something printed: only PyTorch's versions end like this."""
_BUILD_ALONE = expression(
    r"(?i)(?<!dgl )\bversion(?:\W{1,3}\w{1,4}|\w?)\W{1,3}(?P<value>[12]\.\d{1,2}\.\d{1,2}\+(?:cu\d{2,3}|cpu))(?![\w+])"
)
"""The same in a sentence that only says that it is a version; torchvision's begin with 0."""
_BUILD_SHOWN = expression(
    r"(?i)(?<!dgl )\b(?:shows?|reveals?|says?|got|gives?|gave|prints?|printed|returns?|returned|reads?|reports?|displays?|lists)\b\W{1,4}(?P<value>[12]\.\d{1,2}\.\d{1,2}\+(?:cu\d{2,3}|cpu))(?![\w+])"
)
"""The same that a program shows, whatever the sentence calls it."""
_TAGGED_FRAMEWORKS = tuple(spec.name for spec in CATALOGUE if spec.wheel_index)
"""The frameworks whose builds people name by a tag such as cu130."""
_CUDA_TAG = expression(r"(?i)(?<![\w+/.-])\+?cu(?P<major>1[0-9])(?P<minor>\d)(?![\w.])")
"""CUDA as PyTorch's builds are called, in a sentence of its own: "torch 2.9 with cu130"."""
_TORCH_BUILT_WITH = expression(
    r"(?i)\b(?:py)?torch\b[^\n.,;]{0,24}\b(?:built|compiled|installed|build) (?:with|for|against) cuda (?:version )?(?P<value>\d{1,2}\.\d)\b"
)
_DRIVER_MENTION = expression(
    r"(?i)\b(?:drivers? (?:nvidia )?(?:is |was |on |of ){0,3}version|drivers?(?: (?:on|of) (?:that|this|the|my|our) [\w-]{1,20})?(?: version)?(?: is| was)?(?: now| currently| still| at)?|nvidia(?:[- ](?:open|dkms|driver)){0,2})[ -]v?(?P<value>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\w]|\.\w)"
)
_BRANCH_MENTION = expression(
    rf"(?i)\b(?:drivers?(?: version| branch)?(?: is| v)? ?|(?:to|has|have|is|got|installed|running|with|on) nvidia[ -](?:open[ -]|dkms[ -])?)(?P<value>{DRIVER_BRANCH_FORM})(?! ?(?:Ti|GTX|series)\b)(?![\w%]|[.,]\w| ?(?:MB|GB|MiB|GiB|W)\b)"
)
_SYSTEM_MENTION = expression(
    r"(?i)(?:\b(?:on|under|in|using|running|with|use|have|has|(?:os|system|machine|laptop|computer|pc|platform) is) (?:my |an? |the )?"
    rf"|(?<=[{LETTERS}] )|\b(?=windows(?: 1[01])? (?:pc|laptop|desktop|machine|computer|workstation|box)\b))"
    r"(?P<value>windows(?: server)?(?: (?:7|8\.1|8|10|11|20\d\d))|wsl ?2|(?:m[1-5](?: (?:pro|max|ultra))?(?: chip)? )?macos(?: \d{2})?|(?:m[1-5] )?macbook|m[1-5] mac|(?<=my )mac(?: m[1-5])?(?! ?address| ?os\b)|mac (?:studio|mini|pro)(?: m[1-5])?|apple (?:silicon|m[1-5])|ubuntu \d{2}\.\d{2})\b"
)
_WINDOWS_MENTION = expression(
    r"(?i)\bI(?:'m| am)? (?:\w{1,12} ){0,2}?(?:run(?:ning)?|us(?:e|ing)|work(?:ing)?)(?: \w{1,12}){0,2} (?P<value>windows)\b(?! (?:sub|\d|server|only))"
)
"""Windows without its version; a sentence that names others too is none of the writer's own."""
_WSL_MENTION = expression(
    r"(?i)^\W{0,3}\(WSL ?2\) ?[-:]|\b(?:in|inside|under|on|use|used|using|via|through|with|my) wsl(?: ?2)?\b|(?<!running under )\bwindows subsystem for linux\b(?! ?\(?(?:wsl ?)?(?:version )?1\b)"
)
_JETSON_MENTION = expression(r"(?i)\b(?:jetson|orin|xavier|jetpack ?\d\.\d)\b")
_COMMAND_WORDS = expression(r"(?i)\b(?:install|requirements?|dockerfile)\b|[<>!~]=| -> |^\s*(?:File |from |import )")

_VERSION_FORM = expression(r"\d\.\d")
"""What makes of an arrow a change of versions; another one points to an answer."""
_CONDA_COMMAND = expression(
    r"\b(?:conda|mamba) install\b(?=[^\n]{0,200}\bpytorch\b)[^\n]{0,200}?\b(?:cudatoolkit|pytorch-cuda) ?={1,2} ?(?P<value>\d{1,2}\.\d)\b"
)
"""What chooses the CUDA of PyTorch's build."""
_PIP_COMMAND = expression(
    r"(?:(?P<alone>^(?:\W{0,6}|\W{0,3}\w[\w ]{0,20}: ?))|`|(?<=\w)[.,:;!?] |\b(?:ran|used|did|executed|with|via|using|after|since) )(?:python3? -m |uv |!)?pip3? install [^\n`]{0,120}?\b(?P<name>torch|tensorflow(?:-macos|-gpu|-cpu)?)(?:(?:\[[\w,-]{2,30}\])? ?={2,3} ?| \((?:now |version |v)?)(?P<value>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:\+(?:cu\d{2,3}|cpu))?)(?![\w.])(?P<rest>[^\n`]{0,300})"
)
"""A command that somebody ran: on a line of its own, or in a sentence; in parentheses what it installed."""
_NOT_INSTALLED = expression(
    r"(?:Could not find a version that satisfies the requirement|No matching distribution found for) (?P<name>torch|tensorflow(?:-macos|-gpu|-cpu)?)\b"
)
"""A release that pip did not install."""
_WITH_WORDS = expression(r"(?i)(?:^|[\s,(])(?:with|via|using|after) {0,2}[`\"']?$")
_WORKS_AFTERWARDS = expression(rf"(?i)^{WITHOUT_DENIAL}{{0,80}}?{SUCCEEDS}")
_INDEX_BUILD = expression(r"/whl/(?P<build>cu\d{2,3}|cpu)\b")
"""What chooses PyTorch's build."""

_NAME_WORDS = expression(r"(?i)\b(?:tensorflow(?:-gpu|-cpu)?|tf|(?:py)?torch|jaxlib|jax|vllm|(?:nvidia )?drivers?)(?=[ -]?v?\d|\b)")
_BARE_VERSION = expression(
    r"(?i)(?:^\W{0,4}|\b(?:with|on|in|under|using|to|is|was|version|release|the|old|new|and) {1,2})v?(?P<value>[012]\.\d{1,2}(?:\.\d{1,2})?(?:\+(?:cu\d{2,3}|cpu))?)(?![\w%]|\.\w| ?(?:MB|GB|MiB|GiB|x|s|ms)\b)"
)
_BARE_BRANCH = expression(
    r"(?i)(?:^\W{0,4}|\b(?:with|on|in|under|using|to|is|was|version|branch|the|old|new|and) {1,2})v?(?P<value>\d{3}(?:\.\d{2,3}(?:\.\d{2})?)?)(?![\w%]|\.\w| ?(?:MB|GB|MiB|GiB|W)\b)"
)
"""A version whose name stands elsewhere in the sentence: "works with TF 2.10 but not with 2.11"."""
_OTHER_NAMES = expression(r"(?i)\b(?:python|cuda(?:toolkit)?|cudnn|ubuntu|kernel|windows|keras|numpy|gcc|nccl)\b")
"""What a version without a name may be of too."""
_MIN_SYSTEMS = 2
_VERSION_KEYS = ("version:", "package:", "driver")
_SUBJECT_WORDS = (
    *TRAINED,
    "tf",
    "vllm",
    "flash-attn",
    "xformers",
    "driver",
    "nvidia",
    "windows",
    "wsl",
    "mac",
    "ubuntu",
    "jetson",
    "jetpack",
    "orin",
    "xavier",
)


_ClauseStatements = list[tuple[ClauseMeaning, Statement]]


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    mentions: dict[str, list[Statement]] = {}
    for about, statement in (*_installed_statements(lines), *chain.from_iterable(map(_build_statements, lines))):
        mentions.setdefault(about, []).append(statement)
    for line in [other for other in lines if other.text.startswith("#")][:1]:
        if _JETSON_MENTION.search(line.text):  # a title names what the text is about, whatever it says of it
            mentions["platform:jetson"] = [_prose_statement("platform:jetson", "Jetson", line)]
    for line in own_sentences(lines, _SUBJECT_WORDS):
        for about, statement in _sentence_statements(line):
            mentions.setdefault(about, []).append(statement)
    told, systems = _compared_statements(lines)
    for system in systems:
        mentions.setdefault(system.what, []).append(system)
    for about in dict.fromkeys((*mentions, *told)):
        yield from _agreed_statements([*mentions.get(about, ())], told.get(about, ()))


def _compared_statements(lines: Sequence[Line]) -> tuple[dict[str, _ClauseStatements], list[Statement]]:
    """Return what clauses say of each thing that sentences compare, and the systems of the sentences that compare versions."""
    told: dict[str, _ClauseStatements] = {}
    values: dict[tuple[str, str], set[str]] = {}
    sentences_of: dict[str, Line] = {}
    for clause in meaningful_clauses(lines, _SUBJECT_WORDS):
        for about, statement in _clause_statements(clause):
            told.setdefault(about, []).append((clause.meaning, statement))
            values.setdefault((clause.sentence, about), set()).add(statement.value)
        sentences_of[clause.sentence] = msgspec.structs.replace(clause.line, text=clause.sentence)
    compare = dict.fromkeys(sentence for (sentence, _), several in values.items() if len(several) >= _MIN_SYSTEMS)
    return told, [statement for sentence in compare for statement in _single_systems(sentences_of[sentence])]


def _agreed_statements(stated: Sequence[Statement], told: Sequence[tuple[ClauseMeaning, Statement]]) -> Iterator[Statement]:
    """Yield the fullest statement about one thing, if all that count agree."""
    values = values_at_issue([statement.value for statement in stated], [(standing, statement.value) for standing, statement in told])
    counted = [statement for statement in (*stated, *(statement for _, statement in told)) if statement.value in values]
    fullest = max(counted, key=lambda statement: len(statement.value), default=None)
    if fullest and all(
        fullest.value == statement.value or (statement.what == "driver" and fullest.value.startswith(f"{statement.value}."))
        for statement in counted
    ):
        yield fullest


def _single_systems(sentence: Line) -> Iterator[Statement]:
    """Yield the operating system of a sentence that compares versions of something else, if it names one."""
    found = list(_system_statements(sentence))
    if len({statement.value.lower() for statement in found if statement.what == "os"}) < _MIN_SYSTEMS:
        yield from found


def _clause_statements(clause: MeaningfulClause) -> Iterator[tuple[str, Statement]]:
    """Yield the versions that a clause names, one without a name as that of the only thing whose version the sentence names."""
    found = [(about, statement) for about, statement in _sentence_statements(clause.line) if statement.what.startswith(_VERSION_KEYS)]
    yield from found
    if found or _OTHER_NAMES.search(clause.line.text):
        return
    named = {name.lower() for name in _NAME_WORDS.findall(clause.sentence)}
    bare = [hit for form in (_BARE_VERSION, _BARE_BRANCH) if (hit := form.search(clause.line.text))]
    if len(named) != 1 or not bare:
        return
    (said,) = named
    is_driver = said.endswith(("driver", "drivers"))
    match = next((hit for hit in bare if (hit.re.pattern == _BARE_BRANCH.pattern) is is_driver), None)
    if match:
        text = f"{'driver' if is_driver else said} {match['value']}"
        yield from _sentence_statements(msgspec.structs.replace(clause.line, text=text))


def has_version_mention(lines: Sequence[Line]) -> bool:
    """Return whether a line names a driver's or a framework's version, whoever has it."""
    return any(_DRIVER_MENTION.search(line.text) or _PACKAGE_MENTION.search(line.text) for line in lines)


def _sentence_statements(line: Line) -> Iterator[tuple[str, Statement]]:
    """Yield what a sentence states, each with what it is about."""
    for system in _system_statements(line):
        yield system.what, system
    asked, _, answer = line.text.partition(" -> ")
    if _COMMAND_WORDS.search(line.text if _VERSION_FORM.search(answer) else asked):
        return
    for found in _PACKAGE_MENTION.finditer(line.text):
        said = found["name"].lower()
        name = MISTAKEN.get(said, said)
        kind = "version" if framework_of(name) else "package"
        yield name, _prose_statement(f"{kind}:{name}", found["value"], line)
    for found in _TORCH_BUILT_WITH.finditer(line.text):
        yield "torch cuda", _prose_statement("torch cuda", found["value"], line)
    for name in _TAGGED_FRAMEWORKS:
        for found in _CUDA_TAG.finditer(line.text) if name in line.text.lower() else ():
            yield f"{name} cuda", _prose_statement(f"{name} cuda", f"{found['major']}.{found['minor']}", line)
    for found in (*_DRIVER_MENTION.finditer(line.text), *_BRANCH_MENTION.finditer(line.text)):
        yield "driver", _prose_statement("driver", found["value"], line)


def _system_statements(line: Line) -> Iterator[Statement]:
    """Yield the operating systems of a sentence, WSL beside Windows, and a Jetson."""
    for found in (*_SYSTEM_MENTION.finditer(line.text), *_WINDOWS_MENTION.finditer(line.text)):
        yield _prose_statement("os", found["value"], line)
    if _WSL_MENTION.search(line.text):
        yield _prose_statement("platform:wsl2", "WSL 2", line)
    if _JETSON_MENTION.search(line.text):
        yield _prose_statement("platform:jetson", "Jetson", line)


def _build_statements(line: Line) -> Iterator[tuple[str, Statement]]:
    """Yield the builds of PyTorch that sentences say were printed."""
    is_told = "+c" in line.text and not _NOT_INSTALLED.search(line.text)
    for sentence in sentences(line) if is_told else ():
        found = next(filter(None, (form.search(sentence.text) for form in (_TORCH_BUILD, _BUILD_ALONE, _BUILD_SHOWN))), None)
        if found and not GENERAL_WORDS.search(_clause_with_match(sentence.text, found)) and not _COMMAND_WORDS.search(sentence.text):
            yield TORCH.name, _prose_statement(f"version:{TORCH.name}", found["value"], line)


_CLAUSE_END = expression(r"(?i), (?:but|and|so|yet)\b|; |\bhowever\b,?")


def _clause_with_match(text: str, found: re.Match[str]) -> str:
    """Return the part of a sentence from the conjunction before what was found on: "it works elsewhere, but here it says 2.0.0+cpu"."""
    begin = max((match.end() for match in _CLAUSE_END.finditer(text, 0, found.start())), default=0)
    return text[begin:]


def _installed_statements(lines: Sequence[Line]) -> Iterator[tuple[str, Statement]]:
    """Yield what commands installed: not what pip refused, and no cure that somebody names."""
    places = [place for place, line in enumerate(lines) if " install " in line.text]
    refused = {found["name"].lower() for line in lines if (found := _NOT_INSTALLED.search(line.text))} if places else set()
    for place in places:
        is_cure = (place > 0 and is_announcement(lines[place - 1].text)) or any(
            is_verdict(line.text) for line in lines[place + 1 : place + 2]
        )
        yield from (found for found in _command_statements(lines[place]) if not is_cure and found[0] not in refused)


def _command_statements(line: Line) -> Iterator[tuple[str, Statement]]:
    """Yield what a command installed."""
    if found := _CONDA_COMMAND.search(line.text):
        yield "conda", _prose_statement("torch requested cuda", found["value"], line)
    found = _PIP_COMMAND.search(line.text)
    if (
        found
        and not _is_only_tried(line.text, found)
        and (found["alone"] is not None or not is_advice(line.text, found.start(), found.start("rest")))
    ):
        index = _INDEX_BUILD.search(found["rest"]) if found["name"] == TORCH.name and "+" not in found["value"] else None
        build = f"+{index['build']}" if index else ""
        yield found["name"], _prose_statement(f"version:{found['name']}", found["value"] + build, line)


def _is_only_tried(text: str, command: re.Match[str]) -> bool:
    """Return whether a sentence says that it works with what a command installs: "with pip install X the script sees the GPU" is of another environment."""
    return _WITH_WORDS.search(text, 0, command.start() + len("with ")) is not None and _WORKS_AFTERWARDS.search(command["rest"]) is not None


def _prose_statement(what: str, value: str, line: Line) -> Statement:
    return Statement(what, value, READER.name, line.number, Directness.PROSE)


READER = Reader(SENTENCE_READER, blocks=_statements)
