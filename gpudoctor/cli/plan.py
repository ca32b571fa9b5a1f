"""`gpudoctor plan`: finds the newest releases that work on a machine, and how to install them."""

from __future__ import annotations

import sys

import msgspec

from gpudoctor.cli import failure, options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.look import look, on_terminal, redactor
from gpudoctor.cli.machine import Stated, question
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan.propose import Question, propose
from gpudoctor.plan.resolution import Confirmed
from gpudoctor.report import document, plan_text
from gpudoctor.report.plan import Plan


@app.command(short_help="Find the newest packages that work here.", epilog=EPILOG)
def plan(  # noqa: PLR0917 -- Typer calls it by name
    requirements: options.Requirements,
    driver: options.Driver = None,
    gpu: options.PlannedGpu = None,
    cc: options.Cc = None,
    python_version: options.PythonVersion = None,
    os_: options.PlannedOs = None,
    arch: options.Arch = None,
    format: options.PlanFormat = TextOrJson.TEXT,  # noqa: A002 -- named as the option
    offline: options.Offline = False,  # noqa: FBT002
    compat: options.Compat = None,
    quiet: options.QuietTicket = False,  # noqa: FBT002
    no_color: options.NoColor = False,  # noqa: FBT002
) -> int:
    """Find the newest releases that satisfy the requirements and work on this machine, or on one that you state.

    Prints each package with its reason and the commands for uv, pip and conda. Installs nothing.

    \b
    Examples:
      gpudoctor plan torch torchvision
      gpudoctor plan 'jax[cuda12]' --gpu V100 --driver 550.54.14
    """  # noqa: D301 -- click leaves the lines after \b as they are
    machine = Stated(driver=driver, gpus=tuple(gpu or ()), cc=cc, python=python_version, os=os_, arch=arch)

    def carry_out() -> int:
        matrix = open_matrix(compat)
        asked = question(tuple(requirements), machine, matrix, "plan", compat)
        found = _planned(asked, matrix, offline=offline, quiet=quiet, as_text=format is TextOrJson.TEXT).plan
        found = redactor("/", stays=format is TextOrJson.TEXT and on_terminal()).struct(found)
        output.write(_rendered(found, format, no_color=no_color))
        return found.exit_code

    return failure.guarded(carry_out, as_json=format is TextOrJson.JSON)


def _planned(asked: Question, matrix: Matrix, *, offline: bool, quiet: bool, as_text: bool) -> Confirmed:
    """Return the plan, with the other packages that uv resolves unless that is impossible or not wanted."""
    if not offline and sys.platform.startswith("linux"):
        from gpudoctor.cli.live import display  # noqa: PLC0415 -- only where something takes long
        from gpudoctor.plan.confirm import confirm  # noqa: PLC0415 -- starts a child, on Linux alone

        with display(quiet=quiet, report_is_text=as_text) as progress:
            return confirm(asked, matrix, progress)
    why = "--offline" if offline else "uv is asked on Linux only"
    plan = propose(asked, matrix).plan
    return Confirmed(msgspec.structs.replace(plan, resolver_note=f"Planned from the tables alone ({why})."))


def _rendered(found: Plan, form: TextOrJson, *, no_color: bool) -> bytes:
    if form is TextOrJson.JSON:
        return document.encode(found)
    shown = look(no_color=no_color)
    return plan_text.render(found, shown).encode("ascii" if shown.plain else "utf-8", "backslashreplace")
