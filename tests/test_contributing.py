"""CONTRIBUTING.md names existing files and programs, and commands that CI or a test runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from gpudoctor.frameworks import TRAINED
from tests.scripts.programs import ROOT, SCRIPTS
from tests.seams.every import every

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PYTHON = ".venv/bin/python "
RUN_BY = {
    "scripts/test": (".ci/run", "\nscripts/test"),
    "scripts/lint": (".ci/run", "\nscripts/lint"),
    "scripts/generate": ("scripts/lint", "python scripts/generate --check"),
    "scripts/new_rule": ("tests/scripts/test_new_rule.py", "new_rule"),
    "scripts/record_machines": ("tests/test_machines.py", "scripts/record_machines"),
    "scripts/record_rules": ("tests/diagnose/test_conditions.py", "scripts/record_rules"),
    "-m scripts.refresh.torch": ("tests/scripts/refresh/test_check.py", '"torch"'),
    "-m pip wheel": ("tests/scripts/test_scripts.py", '"pip", "wheel"'),
}
"""The programs in the page's commands, each with the file that runs it and how."""


def commands() -> list[str]:
    """Every line of the page's shell blocks, without its comment."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)
    return [line.partition("#")[0].strip().removeprefix(PYTHON) for block in blocks for line in block.splitlines()]


def named_files() -> list[str]:
    """Every path in the page, up to placeholders."""
    spans = re.findall(r"`([^`\n]+)`|\]\(([^)]+)\)", PAGE)
    words = (word for code, link in spans for word in (code or link).split() if re.fullmatch(r"\.?\w+(/[\w.*/-]*|[\w.-]+\.\w+)?", word))
    paths = {word for word in words if "/" in word or re.search(r"\.(py|md|toml|csv)$", word)}
    return sorted(re.split(r"[^/]*(?:NAME|\*)", path)[0] for path in paths)


@every("path", named_files())
def test_every_named_file_exists(path: str) -> None:
    to_come = {"gpudoctor/read/"}
    made = {".venv/bin/python"}
    assert (ROOT / path).exists() or path in to_come | made


def test_every_command_is_run_by_ci_or_a_test() -> None:
    assert commands()
    for command in commands():
        runner, words = next((RUN_BY[program] for program in RUN_BY if f"{command} ".startswith(f"{program} ")), ("", ""))
        assert runner, f"nothing runs {command}: add a test of it and name it in RUN_BY"
        assert words in (ROOT / runner).read_text()


def test_it_lists_every_program() -> None:
    listed = set(re.findall(r"^\| `(scripts/[\w/]+)", PAGE, re.MULTILINE))
    folders = [SCRIPTS, SCRIPTS / "acceptance", SCRIPTS / "bench"]
    programs = {
        f"{path.relative_to(ROOT)}" for folder in folders for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK)
    }
    assert listed == programs | {"scripts/refresh/"}


@pytest.mark.parametrize("framework", TRAINED)
def test_a_framework_is_in_the_files_that_it_lists(framework: str) -> None:
    files = re.findall(r"^\| \d+ \| `([^`]+)`", PAGE, re.MULTILINE)
    assert 8 <= len(files) <= 10
    for file in files:
        assert (ROOT / file.replace("NAME", framework)).exists()


def with_options() -> list[str]:
    """The page's commands with an option, in blocks and in the table of programs."""
    every = {*commands(), *re.findall(r"^\| `(scripts/[^`]+)`", PAGE, re.MULTILINE)}
    return sorted(
        command
        for command in every
        if re.search(r"(?<![\w-])--?[a-z]", command.removeprefix("-m ")) and not re.match("-m pip|scripts/record_machines", command)
    )


@pytest.mark.parametrize("command", with_options())
def test_the_options_of_a_command_are_in_its_help(command: str) -> None:
    program, *rest = command.removeprefix("-m ").split()
    start = ["-m", program] if command.startswith("-m ") else [program]
    done = subprocess.run([sys.executable, *start, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    for option in (word.strip("[]") for word in rest if word.lstrip("[").startswith("-")):
        assert re.search(rf"(?<![\w-]){option}\b", done.stdout), f"{program} has no option {option}"
