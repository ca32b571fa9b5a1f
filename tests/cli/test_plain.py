"""A command line that is read without Typer gives what Typer would have given."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest import mock

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.cli import check as declared
from gpudoctor.cli import program_with
from gpudoctor.cli.plain import _DEFAULTS, plain
from gpudoctor.cli.settings import GivenOptions

Given = tuple[GivenOptions, str | None]


def by_typer(words: list[str]) -> Given | None:
    """What Typer makes of the words; None if it refuses them or answers itself."""
    seen: list[Given] = []

    def note(given: GivenOptions, config: str | None) -> int:
        seen.append((given, config))
        return 0

    with mock.patch.object(declared, "examine", note):
        try:
            typer.main.get_command(program_with("check")).main(["check", *words], standalone_mode=False)
        except Exception:  # noqa: BLE001 -- newer Typer has its own under a private name
            return None
    return seen[0] if seen else None


NAMES = sorted(_DEFAULTS)
WORDS = st.one_of(
    st.sampled_from([f"--{name}" for name in NAMES]),
    st.builds("--{}={}".format, st.sampled_from(NAMES), st.sampled_from(["look", "json", "5", "x y", "", "-", "null", "1e3", "nan"])),
    st.sampled_from(
        ["look", "train", "full", "json", "text", "error", "5", "-1", "inf", "-", "--", "-v", "-o", "null", "NULL", "torch", "é", "--lev"]
    ),
    st.text(max_size=6),
)


@given(st.lists(WORDS, max_size=7))
def test_what_is_read_without_typer_is_what_typer_reads(words: list[str]) -> None:
    mine = plain(words)
    assert mine is None or repr(mine) == repr(by_typer(words))  # nan equals nothing


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
    assert plain(words) == by_typer(words)
    assert plain(words) is not None


def test_every_option_but_the_help_can_be_read_without_typer() -> None:
    (command,) = typer.main.get_command(program_with("check")).commands.values()  # type: ignore[attr-defined]
    long = {option.removeprefix("--") for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert long - {"help"} == set(_DEFAULTS)


@pytest.mark.parametrize("value", ["/opt/venv", ""])
def test_the_variable_for_the_interpreter_is_read(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDOCTOR_PYTHON", value)
    assert plain(["--no-smoke"]) == by_typer(["--no-smoke"])


def test_typer_is_not_loaded_for_it() -> None:
    code = "import sys; sys.argv = ['gpudoctor', 'check', '--node', '--root', '/nonexistent', '--format', 'oneline']; "
    code += "from gpudoctor.cli import main; main(); print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    assert done.stdout.splitlines()[-1] == "False"
