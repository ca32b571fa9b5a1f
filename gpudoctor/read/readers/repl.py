"""Reads what a Python prompt or `python -c` answers on the next line: versions, whether CUDA is available, the GPU's name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "Python prompt"
_MODULES = {"tf": "tensorflow", "np": "numpy"}
_VERSION = re.compile(r"['\"]?(\d{1,4}\.\d{1,4}[\w.+-]{0,40})['\"]?")
_CUDA = re.compile(r"['\"]?(\d{1,2}\.\d{1,2}|None)['\"]?")
_BOOLEAN = re.compile(r"(True|False)")
_TEXT = re.compile(r"['\"]?([A-Z][\w .()-]{3,80})['\"]?")
_PLATFORM = re.compile(r"['\"]?(\w{4,12}-[\w.+-]{5,150})['\"]?")
_ASKED = (
    ("torch cuda", re.compile(r"torch\.version\.cuda"), _CUDA),
    ("cuda available", re.compile(r"torch\.cuda\.is_available\(\)"), _BOOLEAN),
    ("gpu:0", re.compile(r"torch\.cuda\.get_device_name\((?:0|torch\.cuda\.current_device\(\))?\)"), _TEXT),
    ("tensorflow cuda", re.compile(r"(?:tf|tensorflow)\.test\.is_built_with_cuda\(\)"), _BOOLEAN),
    ("kernel platform", re.compile(r"platform\.platform\(\)"), _PLATFORM),
)
_MODULE = re.compile(r"(torch|tf|tensorflow|jax|jaxlib|numpy|np|torchvision|torchaudio|keras)\.__version__")
_CALL = re.compile(r"(?:^|[\s;\"'(])(?:print\((?P<printed>[\w.()]{5,80}?)\)|(?P<bare>[a-z]\w{1,10}\.[\w.()]{4,80}))[\"'\s]{0,3}$")


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for place, line in enumerate(lines[:-1]):
        called = _CALL.search(line.text) if len(line.text) < 300 and line.text.rstrip().endswith((")", "__", "cuda", '"', "'")) else None
        if not called:
            continue
        asked, below = called["printed"] or called["bare"], lines[place + 1]
        answer = re.sub(r"^Out\[\d{1,4}\]: ", "", below.text.strip())
        module = _MODULE.fullmatch(asked)
        found = _VERSION.fullmatch(answer) if module else None
        if module and found:
            yield Statement(f"package:{_MODULES.get(module[1], module[1])}", found[1], _NAME, below.number, Rank.TOOL)
        for what, question, form in _ASKED:
            found = form.fullmatch(answer) if question.fullmatch(asked) else None
            if found:
                yield Statement(what, found[1], _NAME, below.number, Rank.TOOL)


READER = Reader(
    _NAME,
    forms=(
        Form(
            "cuda available",
            r"torch\.cuda\.is_available\(\)['\")]{0,3}\s{0,3}(?:[:=]|->|=>|(?:returns?|returned|is|prints?|gives|says)\b)?\s{0,3}(?P<value>True|False)\b",
        ),
    ),
    blocks=_statements,
)
