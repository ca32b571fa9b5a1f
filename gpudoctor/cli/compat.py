"""`gpudoctor compat`: checks packages, driver, GPU and Python against each other before anything is installed."""

from __future__ import annotations

from gpudoctor.cli import failure, options
from gpudoctor.cli.deliver import deliver
from gpudoctor.cli.destinations import destinations, require_writable
from gpudoctor.cli.formats import Format
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import Delivery, supposing
from gpudoctor.findings import Policy
from gpudoctor.plan import Combination, examine


@app.command(short_help="Check packages, driver and GPU against each other.", epilog=EPILOG)
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
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
    only: options.Only = None,
    skip: options.Skip = None,
    fail_on: options.FailOn = None,
    compat: options.Compat = None,
    verbose: options.Verbose = False,  # noqa: FBT002
    quiet: options.QuietReport = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Find out whether packages, driver, GPU and Python work together, before you buy or install anything.

    Checks only what you state. A requirement without an exact version means the newest release that fits.

    \b
    Example:
      gpudoctor compat torch==2.8.0 --gpu 'GTX 1080' --driver 470.57.02
    """  # noqa: D301 -- click leaves the lines after \b as they are
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
    beside = {Format.JSON: json, Format.JUNIT: junit, Format.MARKDOWN: markdown, Format.SARIF: sarif}
    form = Delivery(destinations=destinations(format or Format.TEXT, output_, beside), verbose=verbose, quiet=quiet, no_color=no_color)
    policy = supposing(tuple(only or ()), tuple(skip or ()), fail_on)
    return failure.guarded(lambda: _carry_out(combination, policy, compat, form), as_json=form.errors_as_json)


def _carry_out(combination: Combination, policy: Policy, compat: str | None, form: Delivery) -> int:
    require_writable(form.destinations)
    return deliver(examine(combination, policy, compat), "compat", form)
