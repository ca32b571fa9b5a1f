"""The commands of the program. Only the module of the named one is imported: it may import at its top what it needs."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NamedTuple, cast

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup

from gpudoctor.cli import COMPLETE, failure
from gpudoctor.cli.program import app
from gpudoctor.errors import OutputError


class Listed(NamedTuple):
    """A command as the help lists it."""

    module: str
    help: str


COMMANDS = {
    "check": Listed("check", "Check this machine, train briefly, and say what to fix."),
    "smoke": Listed("smoke", "Train only, and show the numbers."),
    "diagnose": Listed("diagnose", "Diagnose a report, or pasted text of other tools."),
    "ticket": Listed("ticket", "Write a redacted report for an issue or a colleague."),
    "diff": Listed("diff", "Show what changed between two reports."),
    "fleet": Listed("fleet_check", "Diagnose many machines together."),
    "compat": Listed("compat", "Check packages, driver and GPU against each other."),
    "plan": Listed("plan", "Find the newest packages that work here."),
    "index": Listed("index", "Print the PyTorch package index for this GPU."),
    "fit": Listed("fit", "Find out whether a model fits, how large a batch, how fast."),
    "matrix": Listed("matrix", "Look up a GPU, driver, CUDA, cuDNN or framework release."),
    "xray": Listed("xray", "Show which CUDA libraries would be loaded, and why."),
    "envs": Listed("envs", "List the Python environments of this machine."),
    "explain": Listed("pages", "Explain a rule, an error message or an exit code."),
    "rules": Listed("pages", "List the rules, by family or severity."),
    "schema": Listed("pages", "Print the JSON Schema of a document."),
    "mcp": Listed("mcp", "Serve agents over the Model Context Protocol."),
    "completion": Listed("completion", "Print the script for tab completion in your shell."),
}
"""The commands by name, in the order of the help."""


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    if sys.stdout is None and "--help" in arguments:
        raise OutputError("The help could not be written: standard output is closed.")
    words = (word for word in arguments or _completed() if not word.startswith("-"))
    try:
        return int(program_with(next(words, "")).main(arguments, prog_name="gpudoctor", standalone_mode=False) or 0)
    except OSError as error:  # Typer printing its help; our own output raises OutputError
        if failure.is_nowhere(error):
            raise
        raise OutputError(f"The help could not be written to standard output: {error.strerror}.") from None


def _completed() -> list[str]:
    """Return the words of the line that a shell asks to complete; none unless a shell asks."""
    if COMPLETE not in os.environ:
        return []
    completion_init()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def program_with(named: str) -> TyperGroup:
    """Return the program with the named command. The others are listed, and cannot be run."""
    if named in COMMANDS:
        import_module(f"gpudoctor.cli.{COMMANDS[named].module}")
    program = cast("TyperGroup", typer.main.get_command(app))
    program.commands = {name: program.commands.get(name, TyperCommand(name)) for name in COMMANDS}
    for name, command in program.commands.items():
        command.short_help = COMMANDS[name].help
    return program
