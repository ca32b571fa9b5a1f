"""Every text of these tests with the cause that must lead, from every module that has some."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import tests.read
from tests.read import texts

Case = tuple[str, str, str]
"""A name, the cause and the text."""


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module_info.name.rpartition(".")[2].startswith(("test_", "corpus", "conftest")):
            yield importlib.import_module(module_info.name)


def _cases() -> Iterator[Case]:
    for module in _modules(tests.read):
        for table in ("CASES", "DECIDED"):
            for number, (cause, text) in enumerate(getattr(module, table, ())):
                yield f"{module.__name__.rpartition('.')[2]}-{number}-{cause}", cause, text


CASES: Final = tuple(_cases())
HEALTHY: Final = (*texts.HEALTHY, *texts.HARMLESS)
TEXTS: Final = tuple(dict.fromkeys((*(text for _, _, text in CASES), *HEALTHY)))
