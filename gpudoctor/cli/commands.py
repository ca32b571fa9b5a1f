"""The commands of the program. Only the module of the named one is imported: it may import at its top what it needs."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import NamedTuple, cast

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup

from gpudoctor.cli import COMPLETION_VARIABLE, failure
from gpudoctor.cli.program import app
from gpudoctor.errors import OutputError


class ListedCommand(NamedTuple):
    """A command as the help lists it."""

    module: str
    help: str


COMMANDS = {
    "check": ListedCommand("check", "Check this machine, train briefly, and say what to fix."),
    "smoke": ListedCommand("smoke", "Train only, and show the numbers."),
    "diagnose": ListedCommand("diagnose", "Diagnose a report, or pasted text of other tools."),
    "ticket": ListedCommand("ticket", "Write a redacted report for an issue or a colleague."),
    "diff": ListedCommand("diff", "Show what changed between two reports."),
    "fleet": ListedCommand("fleet_check", "Diagnose many machines together."),
    "compat": ListedCommand("compat", "Check packages, driver and GPU against each other."),
    "plan": ListedCommand("plan", "Find the newest packages that work here."),
    "index": ListedCommand("index", "Print the PyTorch package index for this GPU."),
    "fit": ListedCommand("fit", "Find out whether a model fits, how large a batch, how fast."),
    "matrix": ListedCommand("matrix", "Look up a GPU, driver, CUDA, cuDNN or framework release."),
    "xray": ListedCommand("xray", "Show which CUDA libraries would be loaded, and why."),
    "envs": ListedCommand("envs", "List the Python environments of this machine."),
    "explain": ListedCommand("pages", "Explain a rule, an error message or an exit code."),
    "rules": ListedCommand("pages", "List the rules, by family or severity."),
    "schema": ListedCommand("pages", "Print the JSON Schema of a document."),
    "mcp": ListedCommand("mcp", "Serve agents over the Model Context Protocol."),
    "completion": ListedCommand("completion", "Print the script for tab completion in your shell."),
}
"""The commands by name, in the order of the help."""


def run_command_line(arguments: list[str]) -> int:
    """Run the command line and return its exit code."""
    if sys.stdout is None and "--help" in arguments:
        raise OutputError("The help could not be written: standard output is closed.")
    words = (word for word in arguments or _words_to_complete() if not word.startswith("-"))
    try:
        return int(program_with_command(next(words, "")).main(arguments, prog_name="gpudoctor", standalone_mode=False) or 0)
    except OSError as error:  # Typer printing its help; our own output raises OutputError
        if failure.is_directory_gone(error):
            raise
        raise OutputError(f"The help could not be written to standard output: {error.strerror}.") from None


def _words_to_complete() -> list[str]:
    """Return the words of the line that a shell asks to complete; none unless a shell asks."""
    if COMPLETION_VARIABLE not in os.environ:
        return []
    completion_init()
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def program_with_command(named: str) -> TyperGroup:
    """Return the program with the named command. The others are listed, and cannot be run."""
    if named in COMMANDS:
        import_module(f"gpudoctor.cli.{COMMANDS[named].module}")
    program = cast("TyperGroup", typer.main.get_command(app))
    program.commands = {name: program.commands.get(name, TyperCommand(name)) for name in COMMANDS}
    for name, command in program.commands.items():
        command.short_help = COMMANDS[name].help
    return program
