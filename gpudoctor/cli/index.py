"""`gpudoctor index`: prints the package index with the newest build of a framework that works on a machine."""

from __future__ import annotations

from gpudoctor.cli import failure, options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.machine import plan_question
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.frameworks import CATALOGUE
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan import Combination
from gpudoctor.plan.framework_index import framework_index
from gpudoctor.report import document

_DEFAULT_FRAMEWORK = next(spec.name for spec in CATALOGUE if spec.wheel_index)


@app.command(epilog=EPILOG)
def index(
    requirement: options.Indexed = _DEFAULT_FRAMEWORK,
    driver: options.Driver = None,
    gpu: options.PlannedGpu = None,
    cc: options.Cc = None,
    python_version: options.PythonVersion = None,
    os_: options.PlannedOs = None,
    arch: options.Arch = None,
    torch_backend: options.TorchBackend = False,
    format: options.IndexFormat = TextOrJson.TEXT,
    compat: options.Compat = None,
) -> int:
    """Print the address of the package index with the newest PyTorch build that works on this machine, or on one that you state.

    One line on standard output. If nothing works, the reason is on standard error.

    \b
    Example:
      pip install torch --index-url "$(gpudoctor index torch)"
    """
    combination = Combination(
        requirements=(requirement,), driver=driver, gpus=tuple(gpu or ()), cc=cc, python=python_version, os=os_ or "linux", arch=arch
    )

    def carry_out() -> int:
        matrix = open_matrix(compat)
        found = framework_index(plan_question(combination, matrix, "index", compat, os_stated=os_ is not None), matrix)
        if format is TextOrJson.JSON:
            output.write_output(document.encode_document(found))
            return found.exit_code
        if found.why:
            output.print_error(f"gpudoctor: {found.why}")
        if found.index:
            output.write_output(f"{found.torch_backend if torch_backend else found.index}\n".encode())
        return found.exit_code

    return failure.guarded_exit_code(carry_out, as_json=format is TextOrJson.JSON)
