"""`gpudoctor compat`: checks packages, driver, GPU and Python against each other before anything is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudoctor.cli import failure, options
from gpudoctor.cli.delivery import deliver_reports
from gpudoctor.cli.destinations import require_writable
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.settings import GivenOptions, delivery_of_options, diagnosis_policy
from gpudoctor.errors import UsageError
from gpudoctor.plan import Combination, check_combination
from gpudoctor.requirement_files.reading import read_requirement_files

if TYPE_CHECKING:
    from gpudoctor.requirement_files.model import RequestedPackages


@app.command(epilog=EPILOG)
def compat(
    requirements: options.Requirements = None,
    file: options.RequirementFiles = None,
    extra: options.Extra = None,
    group: options.Group = None,
    driver: options.Driver = None,
    kernel_module: options.KernelModule = None,
    gpu: options.Gpu = None,
    cc: options.Cc = None,
    python_version: options.PythonVersion = None,
    os_: options.Os = "linux",
    arch: options.Arch = None,
    libc: options.Libc = None,
    cuda_compat: options.CudaCompat = None,
    system_cuda: options.SystemCuda = None,
    system_cudnn: options.SystemCudnn = None,
    format: options.Format = None,
    output: options.Output = None,
    json: options.Json = None,
    junit: options.Junit = None,
    markdown: options.Markdown = None,
    sarif: options.Sarif = None,
    only: options.Only = None,
    skip: options.Skip = None,
    fail_on: options.FailOn = None,
    compat: options.Compat = None,
    verbose: options.Verbose = False,
    quiet: options.QuietReport = False,
    no_color: options.NoColor = False,
) -> int:
    """Find out whether packages, driver, GPU and Python work together, before you buy or install anything.

    Checks only what you state. A requirement without an exact version means the newest release that fits.

    \b
    Example:
      gpudoctor compat torch==2.8.0 --gpu 'GTX 1080' --driver 470.57.02
    """
    combination = Combination(
        requirements=tuple(requirements or ()),
        driver=driver,
        kernel_module=kernel_module,
        gpus=tuple(gpu or ()),
        cc=cc,
        python=python_version,
        os=os_,
        arch=arch,
        libc=libc,
        cuda_compat=cuda_compat,
        system_cuda=system_cuda,
        system_cudnn=system_cudnn,
    )
    given = GivenOptions.of(locals())
    form, policy = delivery_of_options(given), diagnosis_policy(given)

    def carry_out() -> int:
        require_writable(form.destinations)
        asked = _file_requirements(tuple(file or ()), tuple(extra or ()), tuple(group or ()), combination)
        return deliver_reports(check_combination(combination, policy, compat, asked, fixes=True), "compat", form)

    return failure.guarded_exit_code(carry_out, as_json=form.errors_as_json)


def _file_requirements(
    files: tuple[str, ...], extras: tuple[str, ...], groups: tuple[str, ...], combination: Combination
) -> RequestedPackages | None:
    """Return what the files ask for; None if none is named."""
    if not files:
        if extras or groups:
            raise UsageError("--extra and --group say what to read of a file; name the file with -r.")
        if not combination.requirements:
            raise UsageError("State at least one package REQ, or a file that lists some with -r FILE.")
        return None
    return read_requirement_files(files, extras, groups)
