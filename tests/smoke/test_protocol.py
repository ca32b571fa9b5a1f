"""The lines a smoke-training child writes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.smoke.child import CHILD, load


def test_numbers_that_are_not_finite_are_strings(protocol: ModuleType) -> None:
    assert protocol.plain([float("nan"), float("inf"), -float("inf"), 1.5, 3, True, None]) == ["nan", "inf", "-inf", 1.5, 3, True, None]


def test_text_that_is_not_unicode_is_escaped(protocol: ModuleType) -> None:
    assert protocol.plain({"a": b"\xff!", "b": "\udc80", 3: "é"}) == {"a": "\\xff!", "b": "\\udc80", "3": "é"}


def test_a_long_error_is_cut_to_its_first_lines(protocol: ModuleType) -> None:
    text = protocol.first_lines(ValueError("\x1b[1mreason\x1b[0m\n\n" + "node of a graph\n" * 1000))
    assert text.splitlines()[:2] == ["reason", "node of a graph"]
    assert len(text.splitlines()) == protocol.ERROR_LINES
    assert len(protocol.first_lines(ValueError("x" * 10_000_000))) == protocol.ERROR_CHARACTERS


def fail(answers: Any) -> None:
    with answers.stage("import", device="GPU:0") as facts:
        facts["version"] = "2.12"
        raise SystemExit("a module that exits")


def test_a_failed_stage_keeps_earlier_facts(protocol: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    answers = protocol.Answers(writer)
    answers.mark("line\nbreak \udcff")
    with pytest.raises(protocol.StageError):
        fail(answers)
    os.close(writer)
    with os.fdopen(reader) as stream:
        mark, begin, unmarked, failed = stream.read().splitlines()
    assert unmarked == "@"  # what was happening before is no part of the stage
    assert mark == "@line\\nbreak \\\\udcff"
    assert json.loads(begin) == {"event": "begin", "stage": "import", "device": "GPU:0"}
    event = json.loads(failed)
    assert event.pop("seconds") >= 0
    assert event == {
        "event": "failed",
        "stage": "import",
        "device": "GPU:0",
        "version": "2.12",
        "error_type": "SystemExit",
        "error": "a module that exits",
    }
    assert "a module that exits" in capsys.readouterr().err


@pytest.mark.parametrize("script", sorted(CHILD.glob("*.py")), ids=lambda path: path.name)
def test_the_syntax_works_in_old_pythons(script: Path) -> None:
    ast.parse(script.read_text(encoding="utf-8"), feature_version=(3, 7))


def test_no_garbage_is_looked_for_in_what_was_imported() -> None:
    program = """
import gc, protocol
try:
    with protocol.importing():
        print(gc.isenabled())
        raise ImportError
except ImportError:
    print(gc.isenabled(), len(gc.get_objects()) < gc.get_freeze_count())
"""
    done = subprocess.run([sys.executable, "-B", "-c", program], cwd=CHILD, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


class _WithoutNumPy:
    """An engine whose framework can be imported where NumPy is not installed."""

    name = "PyTorch"
    settings: Mapping[str, str] = {}
    oldest = ()

    @staticmethod
    def load(_facts: object, _mark: object, accept: Callable[[str], None]) -> None:
        accept("2.15.0")
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")


def test_without_numpy_training_is_not_checked_and_the_framework_is_not_broken(
    protocol: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "importing", nullcontext)  # of a child's process, not of this one
    stages = load("stages")
    with (tmp_path / "answers").open("w") as file:
        answers = protocol.Answers(file.fileno())
        with pytest.raises(protocol.StageError):
            stages.Stages(_WithoutNumPy, protocol, None, answers).load()
    last = json.loads((tmp_path / "answers").read_text().splitlines()[-1])
    assert (last["event"], last["version"]) == ("unsupported", "2.15.0")
