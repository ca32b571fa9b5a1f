"""A configuration, a folder of tables or a file of requirements that is no such thing: one sentence and exit code 2, at once."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.cli.command import ROOT, environment, run, sentence

DIGITS = "9" * 5000
CONFIGS = {
    "deep lists": (f"only = {'[' * 5000}{']' * 5000}", "nested too deeply"),
    "deep tables": (f"only = {'{a=' * 5000}1{'}' * 5000}", "nested too deeply"),
    "a deep key": (f"{'.'.join(['a'] * 5000)} = 1", "there is no option 'a'"),
    "a number of 5,000 digits": (f"timeout = {DIGITS}", "thousands of digits"),
    "an exponent of 5,000 digits": (f"timeout = 1e{DIGITS}", "--timeout"),
}
AT_ONCE = 20.0
"""Seconds; none of these takes one on a quiet machine."""


def refused(*arguments: str) -> str:
    """Return the sentence with which a command refuses its arguments."""
    began = time.monotonic()
    ended = run(*arguments)
    assert ended.returncode == 2
    assert ended.stdout == b""
    assert time.monotonic() - began < AT_ONCE
    said = sentence(ended.stderr)
    assert len(said) < 500
    return said


@pytest.fixture
def fifo(tmp_path: Path) -> str:
    os.mkfifo(tmp_path / "fifo")
    return str(tmp_path / "fifo")


def test_a_configuration_that_is_no_regular_file(fifo: str) -> None:
    for file in (fifo, "/dev/zero"):
        assert f"{file} cannot be read: Not a regular file" in refused("check", "--config", file)


def test_a_file_of_fields_that_is_no_regular_file(fifo: str) -> None:
    for file in (fifo, "/dev/zero"):
        assert "Not a regular file" in refused("diff", "a.json", "b.json", "--ignore-file", file)


@pytest.mark.parametrize(("text", "words"), CONFIGS.values(), ids=CONFIGS)
def test_a_configuration_that_is_hostile(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text)
    assert words in refused("check", "--config", str(file))


@pytest.mark.parametrize("command", [("check", "--no-smoke"), ("compat", "torch")])
def test_tables_that_are_no_folder(command: tuple[str, ...], fifo: str) -> None:
    for file in (fifo, "/dev/zero"):
        assert f"{file} is not a folder" in refused(*command, "--compat", file)


def test_a_table_that_is_no_regular_file_or_has_a_number_of_5000_digits(tmp_path: Path, fifo: str) -> None:
    tables = tmp_path / "tables"
    shutil.copytree(ROOT / "compat", tables)
    drivers = tables / "drivers.csv"
    head, _, rest = drivers.read_text().partition("\n")
    drivers.write_text(f"{head}\n{DIGITS}{rest[3:]}")
    assert "not a whole number" in refused("check", "--compat", str(tables))
    for other in (fifo, "/dev/zero"):
        drivers.unlink()
        drivers.symlink_to(other)
        assert "drivers.csv cannot be read: Not a regular file" in refused("check", "--compat", str(tables))


@pytest.mark.parametrize("name", ["pyproject.toml", "uv.lock"])
@pytest.mark.parametrize("case", ["deep lists", "a number of 5,000 digits"])
def test_a_file_of_requirements_that_is_hostile(name: str, case: str, tmp_path: Path) -> None:
    text, words = CONFIGS[case]
    (tmp_path / name).write_text(text)
    assert words in refused("compat", "-r", str(tmp_path / name))


@pytest.mark.parametrize(
    "words",
    [
        ("diagnose", "{}"),
        ("diagnose", "--compat", "{}", "/dev/null"),
        ("fleet", "merge", "{}"),
        ("xray", "{}"),
        ("compat", "-r", "{}"),
        ("diff", "{}", "{}"),
        ("check", "--python", "{}"),
        ("matrix", "gpu", "{}"),
        ("index", "{}"),
    ],
    ids=" ".join,
)
def test_a_name_steers_no_terminal_and_begins_no_line(words: tuple[str, ...]) -> None:
    done = run(*(word.format("\x1b]0;title\x07\x1b[2J\r\n::error::\u202e") for word in words))
    assert done.returncode == 2
    for text in (done.stdout.decode(), done.stderr.decode()):
        assert all(line.isprintable() for line in text.splitlines())
        assert not any(line.startswith("::") for line in text.splitlines())


@pytest.mark.parametrize(
    ("descriptor", "words"),
    [
        *((descriptor, words) for descriptor in (1, 5) for words in (("diagnose",), ("compat", "-r"), ("fleet", "merge"))),
        (0, ("diagnose",)),
        (0, ("fleet", "merge")),
        (0, ("fleet", "merge", "-")),
    ],
)
def test_no_command_waits_for_a_pipe_that_only_it_writes_to(words: tuple[str, ...], descriptor: int, fifo: str) -> None:
    done = run(*words, f"/proc/self/fd/{descriptor}", shell_redirect=f'{descriptor}<>"$PIPE"', env=environment(PIPE=fifo))
    assert done.returncode == 2
    assert "gpudoctor itself would write to" in sentence(done.stderr)
