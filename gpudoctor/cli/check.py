"""`gpudoctor check` and its options."""

from __future__ import annotations

from gpudoctor.cli import options
from gpudoctor.cli.examine import examine
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions


@app.command(epilog=EPILOG)
def check(
    level: options.Level = None,
    no_smoke: options.NoSmoke = False,
    node: options.Node = False,
    allow_cpu: options.AllowCpu = False,
    python: options.Python = None,
    cwd: options.Cwd = None,
    format: options.Format = None,
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
    force: options.Force = False,
    identify: options.Identify = False,
    compat: options.Compat = None,
    config: options.Config = None,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    root: options.Root = None,
) -> int:
    """Check this machine, train small networks on its GPUs, and say what is wrong and how to fix it.

    Downloads nothing and changes nothing on the machine.
    """
    return examine(GivenOptions.of(locals()), config)
