"""Each promise of SECURITY.md names the tests that hold it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = re.findall(r"^- (.+)$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
PROMISE = re.compile(r"[A-Z`][^<>]*\. <!-- ((?:test_\w+ ?)+) -->")


@pytest.fixture(scope="module")
def tests() -> set[str]:
    """The names of all tests."""
    texts = (file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    return {name for text in texts for name in re.findall(r"^ *def (test_\w+)", text, re.MULTILINE)}


@pytest.mark.parametrize("promise", PROMISES)
def test_a_promise_is_held_by_tests_that_exist(promise: str, tests: set[str]) -> None:
    held = PROMISE.fullmatch(promise)
    assert held, "a promise is a sentence, then the names of its tests in a comment"
    assert set(held[1].split()) <= tests


def test_every_section_promises_something() -> None:
    sections = (ROOT / "SECURITY.md").read_text().split("\n## ")[1:]
    assert len(PROMISES) > 15
    assert all("\n- " in section for section in sections)


def test_no_shell_and_one_place_that_starts_programs() -> None:
    """In gpudoctor's own process; import-linter says the same of the modules."""
    starting = re.compile(r"\bsubprocess\.(?!CompletedProcess)\w+\(|\bos\.(?:system|popen|exec\w+|spawn\w+|posix_spawn)\(|shell=True")
    places = [file for file in (ROOT / "gpudoctor").rglob("*.py") if starting.search(file.read_text())]
    assert {str(file.relative_to(ROOT)) for file in places} == {
        "gpudoctor/process/confinement.py",
        "gpudoctor/children/train/all_reduce.py",
        "gpudoctor/on_ray/task.py",  # runs in a Ray worker, where gpudoctor is not unpacked yet
    }
