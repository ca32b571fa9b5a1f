"""Texts of each family of causes through the real tables and rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter

import pytest

from gpudoctor.matrix import Matrix
from gpudoctor.signatures.table import SIGNATURES
from tests.read import causes as families
from tests.read.test_read import causes

_MODULES = [importlib.import_module(f"{families.__name__}.{one.name}") for one in pkgutil.iter_modules(families.__path__)]


def _texts(name: str) -> list[object]:
    return [
        pytest.param(cause, text, id=f"{module.__name__.rpartition('.')[2]}-{number}-{cause}")
        for module in _MODULES
        for number, (cause, text) in enumerate(getattr(module, name, ()))
    ]


_FEWEST = 3
"""Texts of a cause: one alone may fit its words and not what the program prints."""


def test_every_cause_has_three_texts() -> None:
    written = Counter(cause for module in _MODULES for cause, _ in getattr(module, "CASES", ()))
    likeliest = {signature.causes[0] for signature in SIGNATURES}
    assert {cause: written[cause] for cause in likeliest | written.keys() if written[cause] < _FEWEST} == {}


@pytest.mark.parametrize(("cause", "text"), _texts("CASES"))
def test_the_cause_leads(cause: str, text: str, matrix: Matrix) -> None:
    assert causes(text, matrix)[:1] == [cause]


@pytest.mark.parametrize(("cause", "text"), _texts("NEAR_MISSES"))
def test_what_only_looks_like_the_cause_does_not_find_it(cause: str, text: str, matrix: Matrix) -> None:
    assert cause not in causes(text, matrix)
