"""The command line. Only Typer is imported here; a command loads what it needs when it runs."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated, Literal, NoReturn

import typer

from gpudoctor.cli import failure, options, output
from gpudoctor.errors import OutputError

_EPILOG = (
    "Exit codes: 0 ready or degraded, 1 broken (or degraded, with --fail-on warning), 2 usage or output, "
    "3 could not be shown, 4 gpudoctor itself failed, 130 and 143 stopped by a signal."
)
_HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

app = typer.Typer(
    name="gpudoctor", rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, context_settings=_HELP, epilog=_EPILOG
)


def run() -> NoReturn:
    """The program `gpudoctor`.

    It lives a tenth of a second: collecting garbage meanwhile and taking the interpreter down in order would be a tenth of that.
    """
    gc.disable()
    os._exit(main())


def main() -> int:
    """Run the command of sys.argv and return its exit code."""
    output.hold_descriptors()
    arguments = sys.argv[1:]

    def body() -> int:
        command = typer.main.get_command(app)
        try:
            return int(command.main(arguments, prog_name="gpudoctor", standalone_mode=False) or 0)
        except OSError as error:  # Typer printing its help; what we write ourselves raises OutputError
            raise OutputError(f"The help could not be written to standard output: {error.strerror}.") from None

    code = failure.guarded(body, as_json=failure.wants_json(arguments))
    return code if failure.flush() else failure.USAGE


def _version(asked: bool) -> None:  # noqa: FBT001 -- Typer's callback
    if asked:
        from gpudoctor import __version__  # noqa: PLC0415 -- only for this

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


@app.command(short_help="Look, train, and say what is wrong and what to do.", epilog=_EPILOG)
def check(  # noqa: PLR0917 -- Typer calls it by name
    level: options.Level = None,
    no_smoke: options.NoSmoke = False,  # noqa: FBT002 -- flags of the command line
    allow_cpu: options.AllowCpu = False,  # noqa: FBT002
    python: options.Python = None,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output_: options.Output = None,
    only: options.Only = None,
    skip: options.Skip = None,
    require: options.Require = None,
    fail_on: options.FailOn = None,
    timeout: options.Timeout = None,
    wait: options.Wait = None,
    force: options.Force = False,  # noqa: FBT002
    identify: options.Identify = False,  # noqa: FBT002
    compat: options.Compat = None,
    config: options.Config = None,
    quiet: options.Quiet = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
    root: options.Root = None,
) -> int:
    """Look at the machine, train a small network, and say what is wrong and what to do about it.

    Nothing is downloaded and nothing on the machine is changed.
    """
    from gpudoctor.cli.check import carry_out  # noqa: PLC0415 -- loaded when it runs
    from gpudoctor.cli.settings import Asked, settle  # noqa: PLC0415 -- likewise

    asked = Asked(
        level=level,
        no_smoke=no_smoke,
        allow_cpu=allow_cpu,
        python=python,
        only=tuple(only or ()),
        skip=tuple(skip or ()),
        require=tuple(require or ()),
        fail_on=fail_on,
        timeout=timeout,
        wait=wait,
        force=force,
        compat=compat,
        format=format,
        output=output_,
        identify=identify,
        quiet=quiet,
        no_color=no_color,
        root=root,
    )
    settings = settle(asked, config)
    return failure.guarded(lambda: carry_out(settings), as_json=settings.format == "json")


@app.command(short_help="Explain a rule: GD203, or driver-too-old.")
def explain(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="A code (GD203) or a name (driver-too-old).")],
    format: options.PageFormat = "text",  # noqa: A002 -- named as the option
) -> int:
    """Explain a rule: what it means, why it matters, what to do, where it is documented."""
    from gpudoctor.cli import pages  # noqa: PLC0415 -- loads every rule

    return pages.explain(rule, as_json=format == "json")


@app.command(short_help="List the rules.")
def rules(format: options.PageFormat = "text") -> int:  # noqa: A002 -- named as the option
    """List the rules."""
    from gpudoctor.cli import pages  # noqa: PLC0415 -- loads every rule

    return pages.rules(as_json=format == "json")


@app.command(short_help="Print the JSON Schema of a document.")
def schema(
    document: Annotated[Literal["report", "snapshot", "error", "rules"], typer.Argument(help="Which document's schema.")] = "report",
) -> int:
    """Print the JSON Schema of a document that gpudoctor writes."""
    from gpudoctor.cli import pages  # noqa: PLC0415 -- loads every rule

    return pages.schema(document)
