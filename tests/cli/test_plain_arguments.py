"""A command line that is read without Typer gives what Typer would have given."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.cli import check, diagnose
from gpudoctor.cli.commands import program_with_command
from gpudoctor.cli.plain_arguments import CHECK_OPTIONS, DIAGNOSE_OPTIONS, PlainArguments, check_arguments, diagnose_arguments
from gpudoctor.cli.settings import GivenOptions


def by_typer(command: str, words: list[str]) -> PlainArguments | None:
    """What Typer makes of the words; None if it refuses them or answers itself."""
    seen: list[PlainArguments] = []

    def of_a_check(given: GivenOptions, config: str | None) -> int:
        seen.append(PlainArguments(given, config))
        return 0

    def of_a_text(files: list[str], given: GivenOptions) -> int:
        seen.append(PlainArguments(given, files=tuple(files)))
        return 0

    with mock.patch.object(check, "examine", of_a_check), mock.patch.object(diagnose, "examine_text", of_a_text):
        try:
            program_with_command(command).main([command, *words], standalone_mode=False)
        except Exception:  # noqa: BLE001 -- newer Typer has its own under a private name
            return None
    return seen[0] if seen else None


NAMES = sorted(CHECK_OPTIONS)
READ = {"check": check_arguments, "diagnose": diagnose_arguments}
WORDS = st.one_of(
    st.sampled_from([f"--{name}" for name in NAMES]),
    st.builds(
        "--{}={}".format, st.sampled_from(NAMES), st.sampled_from(["look", "json", "5", "x y", "", "-", "null", "1e3", "nan", "\udcff"])
    ),
    st.sampled_from(
        [
            "look",
            "a.txt",
            "train",
            "full",
            "json",
            "text",
            "error",
            "5",
            "-1",
            "inf",
            "-",
            "--",
            "-v",
            "-o",
            "null",
            "NULL",
            "torch",
            "é",
            "\udcff",
            "--lev",
        ]
    ),
    st.text(max_size=6),
)


@pytest.mark.parametrize("command", READ)
@given(words=st.lists(WORDS, max_size=7))
def test_what_is_read_without_typer_is_what_typer_reads(command: str, words: list[str]) -> None:
    mine = READ[command](words)
    assert mine is None or repr(mine) == repr(by_typer(command, words))  # nan equals nothing


@pytest.mark.parametrize("command", READ)
def test_an_option_of_bytes_that_are_no_text_is_left_to_typer_or_read_as_it_does(command: str) -> None:
    for name in NAMES:
        words = [f"--{name}=\udcff\udc80"]
        mine = READ[command](words)
        assert mine is None or mine == by_typer(command, words)


@pytest.mark.parametrize(
    "words", [["-"], ["a.txt"], ["a.txt", "-", "b.txt", "--format", "json"], ["--only=GD2", "--verbose", "a.txt"]], ids=" ".join
)
def test_a_diagnosis_of_files_needs_no_typer(words: list[str]) -> None:
    assert diagnose_arguments(words) == by_typer("diagnose", words)
    assert diagnose_arguments(words) is not None


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--no-smoke"],
        ["--no-smoke", "--format", "json", "--python", "/opt/venv/bin/python"],
        ["--level=full", "--only", "GD2,GD3", "--only=GD503", "--timeout", "90", "--require", "driver>=550"],
        ["--node", "--quiet", "--json", "-", "--config", "gpudoctor.toml"],
    ],
    ids=" ".join,
)
def test_what_scripts_use_needs_no_typer(words: list[str]) -> None:
    assert check_arguments(words) == by_typer("check", words)
    assert check_arguments(words) is not None


@pytest.mark.parametrize(("name", "names"), [("check", CHECK_OPTIONS), ("diagnose", DIAGNOSE_OPTIONS)])
def test_every_option_but_the_help_can_be_read_without_typer(name: str, names: frozenset[str]) -> None:
    command = program_with_command(name).commands[name]
    long = {option.removeprefix("--") for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert long - {"help"} == names


@pytest.mark.parametrize("value", ["/opt/venv", ""])
def test_the_variable_for_the_interpreter_is_read(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDOCTOR_PYTHON", value)
    assert check_arguments(["--no-smoke"]) == by_typer("check", ["--no-smoke"])


def test_typer_is_not_loaded_for_it() -> None:
    code = "import sys; sys.argv = ['gpudoctor', 'check', '--node', '--root', '/nonexistent', '--format', 'oneline']; "
    code += "from gpudoctor.cli import main; main(); print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    assert done.stdout.splitlines()[-1] == "False"
