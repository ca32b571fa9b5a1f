"""Texts of each family of causes through the real tables and rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

from gpudoctor.matrix import Matrix
from gpudoctor.signatures.table import SIGNATURES
from tests import told
from tests.read import causes as families
from tests.read.test_read import causes_of, judged
from tests.seams.every import every

_MODULES = [importlib.import_module(f"{families.__name__}.{module.name}") for module in pkgutil.iter_modules(families.__path__)]


def _texts(name: str) -> dict[str, tuple[str, str]]:
    """Return the causes and texts of all families by name."""
    return {
        f"{module.__name__.rpartition('.')[2]}-{cause}-{told.mark(text)}": (cause, text)
        for module in _MODULES
        for cause, text in getattr(module, name, ())
    }


CASES, NEAR_MISSES = _texts("CASES"), _texts("NEAR_MISSES")
_FEWEST = 3
"""Texts of a cause: one alone may fit its words and not what the program prints."""


def test_every_cause_has_three_texts() -> None:
    written = Counter(cause for module in _MODULES for cause, _ in getattr(module, "CASES", ()))
    likeliest = {signature.causes[0] for signature in SIGNATURES}
    assert {cause: written[cause] for cause in likeliest | written.keys() if written[cause] < _FEWEST} == {}


@every("name", tuple(CASES))
def test_the_cause_leads(name: str, matrix: Matrix) -> None:
    cause, text = CASES[name]
    found = judged(text, matrix)
    assert causes_of(found)[:1] == [cause]
    assert told.text(found) == told.kept(told.OF_TEXTS).get(name, ""), "if the new words are the better ones: scripts/record_rules texts"


@every("name", tuple(NEAR_MISSES))
def test_what_only_looks_like_the_cause_does_not_find_it(name: str, matrix: Matrix) -> None:
    cause, text = NEAR_MISSES[name]
    found = judged(text, matrix)
    assert cause not in causes_of(found)
    assert told.text(found) == told.kept(told.OF_TEXTS).get(name, ""), "if the new words are the better ones: scripts/record_rules texts"


def test_what_was_said_of_texts_is_of_these_texts() -> None:
    assert {*told.kept(told.OF_TEXTS)} == {*CASES, *NEAR_MISSES}, "scripts/record_rules texts"


_OF_A_PACKAGE = frozenset({"framework-missing", "env-hides-gpu"})
"""What another framework that answers contradicts, or has nothing to do with."""
_LINES = tuple(
    line
    for signature in SIGNATURES
    for line in signature.lines
    if not (signature.last or signature.needs_support) and signature.causes[0] not in _OF_A_PACKAGE
)


@every("line", _LINES[::5])
def test_a_framework_that_sees_no_gpu_hides_no_error(line: str, matrix: Matrix) -> None:
    alone = causes_of(judged(f"{line}\n", matrix))[:1]
    assert causes_of(judged(f"{line}\ntorch.cuda.is_available() returns False\n", matrix))[:1] == alone or not alone
