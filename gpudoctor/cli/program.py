"""The program object; the module of each command registers the command with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from gpudoctor import __version__
from gpudoctor.cli import output
from gpudoctor.cli.width import READABLE_COLUMNS, requested_width
from gpudoctor.exit_meanings import exit_codes_line

if TYPE_CHECKING:
    from typer.core import TyperGroup

EPILOG = f"{exit_codes_line()} Details: gpudoctor explain exit-codes"
_HELP_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": requested_width() or READABLE_COLUMNS}

app = typer.Typer(
    name="gpudoctor",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings=_HELP_SETTINGS,
    epilog=EPILOG,
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 -- Typer's callback
    if asked:
        output.write_output(f"gpudoctor {__version__}\n".encode())
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _gpudoctor(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", is_eager=True, callback=_print_version, help="Print the version.")] = False,  # noqa: ARG001
) -> None:
    """Find out whether this machine can train on its GPU and, if not, what to fix."""
    if context.invoked_subcommand is None:
        output.write_output(_first_screen_text(context).encode())


def _first_screen_text(context: typer.Context) -> str:
    """Return what `gpudoctor` alone prints: what it is for, its commands and the one to start with."""
    screen, program = context.make_formatter(), cast("TyperGroup", context.command)
    program.format_help_text(context, screen)
    program.format_commands(context, screen)
    return f"{screen.getvalue().lstrip()}\nA command's options: gpudoctor COMMAND --help\nTry: gpudoctor check\n"
