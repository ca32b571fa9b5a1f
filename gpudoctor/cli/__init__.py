"""The command line. Only Typer is imported here; a command loads what it needs when it runs."""

from __future__ import annotations

import copy
import gc
import os
import sys
from typing import Annotated, Literal, NoReturn

import typer

from gpudoctor.cli import failure, options, output, system
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
        command = typer.main.get_command(_with_only(arguments[:1]))
        try:
            return int(command.main(arguments, prog_name="gpudoctor", standalone_mode=False) or 0)
        except OSError as error:  # Typer printing its help; what we write ourselves raises OutputError
            raise OutputError(f"The help could not be written to standard output: {error.strerror}.") from None

    code = failure.guarded(body, as_json=failure.wants_json(arguments))
    return code if failure.flush() else failure.USAGE


def _with_only(named: list[str]) -> typer.Typer:
    """The program with the one command that is named, as each costs half a millisecond to make; with all where none is."""
    asked = [one for one in app.registered_commands if one.callback is not None and [one.callback.__name__] == named]
    if not asked:
        return app
    narrow = copy.copy(app)
    narrow.registered_commands = asked
    return narrow


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
    node: options.Node = False,  # noqa: FBT002
    allow_cpu: options.AllowCpu = False,  # noqa: FBT002
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output_: options.Output = None,
    only: options.Only = None,
    skip: options.Skip = None,
    require: options.Require = None,
    framework: options.Framework = None,
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
    system.require_linux("check")
    from gpudoctor.cli.check import carry_out  # noqa: PLC0415 -- loaded when it runs
    from gpudoctor.cli.settings import GivenOptions, settle  # noqa: PLC0415 -- likewise

    asked = GivenOptions(
        level=level,
        no_smoke=no_smoke,
        node=node,
        allow_cpu=allow_cpu,
        python=python,
        cwd=cwd,
        only=tuple(only or ()),
        skip=tuple(skip or ()),
        require=tuple(require or ()),
        framework=tuple(framework or ()),
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


@app.command(short_help="Only train, and show the numbers.", epilog=_EPILOG)
def smoke(  # noqa: PLR0917 -- Typer calls it by name
    level: options.TrainLevel = "train",
    framework: options.Framework = None,
    allow_cpu: options.AllowCpu = False,  # noqa: FBT002 -- flags of the command line
    force: options.Force = False,  # noqa: FBT002
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.SmokeFormat = "text",  # noqa: A002 -- named as the option
    output_: options.Output = None,
    timeout: options.Timeout = None,
    quiet: options.Quiet = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
    root: options.Root = None,
) -> int:
    """Train a small network with each installed framework on each free GPU, and show stages, losses, speed and agreement with the CPU.

    Of the rules only those are applied that tell why a training fails or is slow. Nothing is downloaded and nothing on the machine is changed.
    """
    system.require_linux("smoke")
    from gpudoctor.cli.settings import GivenOptions, settle  # noqa: PLC0415 -- loaded when it runs
    from gpudoctor.cli.smoke import carry_out  # noqa: PLC0415 -- likewise

    asked = GivenOptions(
        level=level,
        framework=tuple(framework or ()),
        allow_cpu=allow_cpu,
        force=force,
        python=python,
        cwd=cwd,
        format=format,
        output=output_,
        timeout=timeout,
        quiet=quiet,
        no_color=no_color,
        root=root,
    )
    settings = settle(asked, None)
    return failure.guarded(lambda: carry_out(settings), as_json=format == "json")


@app.command(short_help="Say whether a combination would work, before it is there.", epilog=_EPILOG)
def compat(  # noqa: PLR0917 -- Typer calls it by name
    requirements: options.Requirements,
    driver: options.Driver = None,
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    python_version: options.PythonVersion = None,
    os_: options.Os = "linux",
    arch: options.Arch = None,
    system_cuda: options.SystemCuda = None,
    system_cudnn: options.SystemCudnn = None,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output_: options.Output = None,
    only: options.Only = None,
    skip: options.Skip = None,
    fail_on: options.FailOn = None,
    compat: options.Compat = None,
    quiet: options.QuietReport = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Say whether packages, driver, GPU and Python would work together, before anything is bought or installed.

    What is not stated is not judged. A requirement without an exact version stands for the newest release that fits.
    Example: gpudoctor compat 'tensorflow[and-cuda]==2.16.1' --gpu 'GTX 1080' --driver 470.57.02
    """
    from gpudoctor.cli.compat import carry_out  # noqa: PLC0415 -- loaded when it runs
    from gpudoctor.cli.deliver import Delivery  # noqa: PLC0415 -- likewise
    from gpudoctor.cli.settings import supposing  # noqa: PLC0415 -- likewise
    from gpudoctor.plan.model import Combination  # noqa: PLC0415 -- likewise

    combination = Combination(
        requirements=tuple(requirements),
        driver=driver,
        gpus=tuple(gpu or ()),
        cc=cc,
        python=python_version,
        os=os_,
        arch=arch,
        system_cuda=system_cuda,
        system_cudnn=system_cudnn,
    )
    form = Delivery(format=format or "text", output=None if output_ == "-" else output_, quiet=quiet, no_color=no_color)
    policy = supposing(tuple(only or ()), tuple(skip or ()), fail_on)
    return failure.guarded(lambda: carry_out(combination, policy, compat, form), as_json=form.format == "json")


@app.command(short_help="Show what the tables know, with sources.")
def matrix(
    subject: options.MatrixSubject,
    name: options.MatrixName,
    version: options.MatrixVersion = None,
    format: options.RowFormat = "text",  # noqa: A002 -- named as the option
    compat: options.Compat = None,
) -> int:
    """Show what the compatibility tables know of a GPU, a driver, a CUDA or cuDNN release or a framework, and where it was read."""
    from gpudoctor.cli.matrix import carry_out  # noqa: PLC0415 -- loaded when it runs

    return carry_out(subject, name, version, compat, as_json=format == "json")


@app.command(short_help="Show which libraries would be loaded, why, and for which GPUs they hold code.")
def xray(
    files: options.Files = None,
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.XrayFormat = "text",  # noqa: A002 -- named as the option
    root: options.Root = None,
) -> int:
    """Show which of CUDA's libraries each framework would load, why those, and for which GPUs they hold code; nothing is loaded.

    For FILE, a shared library or program: what it needs, what it would get, and its GPU code.
    """
    system.require_linux("xray")
    from gpudoctor.cli.xray import carry_out  # noqa: PLC0415 -- loaded when it runs

    return carry_out(tuple(files or ()), python, as_json=format == "json", root=root or "/", cwd=cwd)


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
    document: Annotated[
        Literal["report", "snapshot", "error", "rules", "matrix", "xray"], typer.Argument(help="Which document's schema.")
    ] = "report",
) -> int:
    """Print the JSON Schema of a document that gpudoctor writes."""
    from gpudoctor.cli import pages  # noqa: PLC0415 -- loads every rule

    return pages.schema(document)
