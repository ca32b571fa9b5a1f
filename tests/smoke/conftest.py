"""The smoke-training child, and its modules, as fixtures."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.smoke.child import Run, healthy_run, load, run


@pytest.fixture(scope="session")
def task() -> ModuleType:
    return load("task")


@pytest.fixture(scope="session")
def protocol() -> ModuleType:
    return load("protocol")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """tests.smoke.child.run in a new folder."""

    def start(*arguments: str, **options: Any) -> Run:
        return run(tmp_path_factory.mktemp("smoke"), *arguments, **options)

    return start


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """TensorFlow's training on the CPU, for several tests."""
    return healthy_run(tmp_path_factory)[0]
