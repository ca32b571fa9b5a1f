"""`gpudoctor check` and its options."""

from __future__ import annotations

from gpudoctor.cli import options
from gpudoctor.cli.examine import examine
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions


@app.command(epilog=EPILOG)
def check(  # noqa: PLR0917 -- Typer calls it by name
    level: options.Level = None,
    no_smoke: options.NoSmoke = False,  # noqa: FBT002 -- flags of the command line
    node: options.Node = False,  # noqa: FBT002
    allow_cpu: options.AllowCpu = False,  # noqa: FBT002
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.Format = None,  # noqa: A002 -- named as the option
    output: options.Output = None,
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
    return examine(GivenOptions.of(locals()), config)
