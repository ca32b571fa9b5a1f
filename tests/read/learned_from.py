"""The texts that `scripts/learn_words` learns from: each with the cause that it names, "" where it names no fault."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gpudoctor.signatures.table import SIGNATURES
from tests import told
from tests.read import causes

OWN_WORDS: Final = Path(__file__).parent / "own_words"
"""A JSON file of lines for each family of causes: a cause, and a text as people write it, without the error message if they left it out."""

_NAMES: Final = re.compile(r"^GD\d+.*(?:error|warning), (?!possible\): .*: only the words )", re.MULTILINE)
"""A finding that is more than a likeness."""


def _written(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each module of causes, and the causes and texts of its list of this name."""
    for module_info in pkgutil.iter_modules(causes.__path__):
        module = importlib.import_module(f"{causes.__name__}.{module_info.name}")
        for cause, text in getattr(module, name, ()):
            yield module_info.name, cause, text


def _told() -> Iterator[tuple[str, str]]:
    """Yield the causes and texts in people's own words."""
    for path in sorted(OWN_WORDS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            cause, text = json.loads(line)
            yield cause, text


def _harmless() -> Iterator[str]:
    """Yield the texts that only look as if they named a cause, and name no other."""
    said = told.kept(told.OF_TEXTS)
    for family, cause, text in _written("NEAR_MISSES"):
        if not _NAMES.search(said.get(f"{family}-{cause}-{told.mark(text)}", "")):
            yield text


LEARNED_FROM: Final = tuple(
    sorted(
        {
            *((cause, text) for _, cause, text in _written("CASES")),
            *_told(),
            *((signature.causes[0], line) for signature in SIGNATURES for line in signature.lines),
            *(("", text) for text in _harmless()),
        }
    )
)


def digest() -> str:
    """Return what tells these texts from any other."""
    return hashlib.sha256(repr(LEARNED_FROM).encode()).hexdigest()[:16]
