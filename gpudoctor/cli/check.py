"""`gpudoctor check`: runs the check, writes the reports and exits with the verdict's code."""

from __future__ import annotations

import signal

from gpudoctor.cli import failure, live, options, system
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.formats import FOR_PEOPLE
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions, Settings, settle


@app.command(short_help="Check this machine, train briefly, and say what to fix.", epilog=EPILOG)
def check(  # noqa: PLR0917 -- Typer calls it by name
    level: options.Level = None,
    no_smoke: options.NoSmoke = False,  # noqa: FBT002 -- flags of the command line
    node: options.Node = False,  # noqa: FBT002
    allow_cpu: options.AllowCpu = False,  # noqa: FBT002
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output_: options.Output = None,
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
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
    verbose: options.Verbose = False,  # noqa: FBT002
    quiet: options.Quiet = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
    root: options.Root = None,
) -> int:
    """Check this machine, train small networks on its GPUs, and say what is wrong and how to fix it.

    Downloads nothing and changes nothing on the machine.
    """
    system.require_linux("check")
    given = GivenOptions(
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
        json=json,
        junit=junit,
        markdown=markdown,
        sarif=sarif,
        identify=identify,
        verbose=verbose,
        quiet=quiet,
        no_color=no_color,
        root=root,
    )
    settings = settle(given, config)
    return failure.guarded(lambda: carry_out(settings), as_json=settings.errors_as_json)


def carry_out(settings: Settings, command: str = "check") -> int:
    """Check, write the report and return the exit code. Raises GpudoctorError if either is impossible."""
    from gpudoctor.check.run import run  # noqa: PLC0415 -- on Linux alone

    require_writable(settings.destinations)
    signal.signal(signal.SIGTERM, _stop)
    with live.display(quiet=settings.quiet, report_is_text=settings.main.format in FOR_PEOPLE) as progress:
        examination = run(settings.options, progress)
    from gpudoctor.cli.deliver import deliver  # noqa: PLC0415 -- 40 ms, had it been before the children were started

    return deliver(examination, command, settings)


def _stop(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)
