"""The program, with which each command's module registers it."""

from __future__ import annotations

from typing import Annotated

import typer

from gpudoctor import __version__
from gpudoctor.cli import failure, output

EPILOG = (
    "Exit codes: 0 ready or degraded, 1 broken (or degraded, with --fail-on warning), 2 usage or output, "
    "3 could not be shown, 4 gpudoctor itself failed, 130 and 143 stopped by a signal."
)
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="gpudoctor", rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, context_settings=_HELP, epilog=EPILOG
)


def _version(asked: bool) -> None:  # noqa: FBT001 -- Typer's callback
    if asked:
        output.write(f"gpudoctor {__version__}\n".encode())
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _gpudoctor(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", is_eager=True, callback=_version, help="Print the version.")] = False,  # noqa: ARG001, FBT002
) -> None:
    """Tells whether this Python environment can train on this machine's GPU and, if not, the one thing to change.

    Start with `gpudoctor check`.
    """
    if context.invoked_subcommand is None:
        output.say(context.get_help())
        raise typer.Exit(failure.USAGE)
