"""`gpudoctor plan`: finds the newest releases that work on a machine, and how to install them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from gpudoctor.check.interrupts import CheckInterrupted, Interrupts
from gpudoctor.cli import failure, options, output
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.machine import plan_question
from gpudoctor.cli.program import EPILOG, app
from gpudoctor.cli.progress_display import display_for_terminal
from gpudoctor.cli.show import show_result
from gpudoctor.cli.verify import question_with_numpy, verified_plan
from gpudoctor.errors import UsageError
from gpudoctor.findings import Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.matrix_files import open_matrix
from gpudoctor.plan import Combination
from gpudoctor.plan.confirmation import confirmed_plan
from gpudoctor.plan.proposal import PlanQuestion
from gpudoctor.plan.question_files import question_with_files
from gpudoctor.plan.resolution import ConfirmedPlan
from gpudoctor.plan.table_plan import plan_from_tables
from gpudoctor.report import plan_files, plan_text
from gpudoctor.requirement_files.reading import read_requirement_files


@app.command(epilog=EPILOG)
def plan(
    requirements: options.PlannedRequirements = None,
    file: options.PlannedFiles = None,
    driver: options.Driver = None,
    gpu: options.PlannedGpu = None,
    cc: options.Cc = None,
    python_version: options.PythonVersion = None,
    os_: options.PlannedOs = None,
    arch: options.Arch = None,
    write: options.WritePlan = None,
    force: options.ForceWrite = False,
    verify: options.Verify = False,
    keep: options.Keep = None,
    yes: options.Yes = False,
    format: options.PlanFormat = TextOrJson.TEXT,
    offline: options.Offline = False,
    compat: options.Compat = None,
    quiet: options.NoProgress = False,
    no_color: options.NoColor = False,
) -> int:
    """Find the newest releases that satisfy the requirements and work on this machine, or on one that you state.

    Prints each package with its reason and the commands for uv, pip and conda. Installs nothing.

    \b
    Examples:
      gpudoctor plan torch torchvision
      gpudoctor plan 'jax[cuda12]' --gpu V100 --driver 550.54.14
    """
    combination = Combination(
        requirements=tuple(requirements or ()),
        driver=driver,
        gpus=tuple(gpu or ()),
        cc=cc,
        python=python_version,
        os=os_ or "linux",
        arch=arch,
    )
    files, as_text = tuple(write or ()), format is TextOrJson.TEXT

    def carry_out() -> int:
        matrix = open_matrix(compat)
        _require_writable(files, force=force)
        asked = _question_with_files(
            plan_question(combination, matrix, "plan", compat, os_stated=os_ is not None), tuple(file or ()), matrix
        )
        with interrupts_allowed():
            verified_too = verify or keep is not None
            found = _confirmed_plan(
                question_with_numpy(asked) if verified_too else asked, matrix, offline=offline, quiet=quiet, as_text=as_text
            )
            plan = found.plan
            if verified_too:
                plan = verified_plan(found, asked.machine.platform, keep, yes=yes, quiet=quiet, as_text=as_text)
        for name in files:
            if plan.environment is None or plan.environment.verdict == Verdict.BROKEN.value:
                output.print_error(f"gpudoctor: {name} was not written.")
            else:
                output.write_output(plan_files.file_content(plan, found.lock, name).encode(), name)
        show_result(plan, format, plan_text.render, no_color=no_color)
        return plan.exit_code

    return failure.guarded_exit_code(carry_out, as_json=not as_text)


def _question_with_files(asked: PlanQuestion, files: tuple[str, ...], matrix: Matrix) -> PlanQuestion:
    if not files:
        if not asked.requirements:
            raise UsageError("State at least one package, or a file that lists some with -r: gpudoctor plan torch.")
        return asked
    return question_with_files(asked, read_requirement_files(files), matrix)


def _require_writable(files: tuple[str, ...], *, force: bool) -> None:
    """Refuse early what could not be written, and files that exist."""
    for file in files:
        plan_files.refuse_unknown_name(file)
        output.require_writable(file)
        if os.path.exists(file) and not force:
            raise UsageError(f"{file} exists; name another file, or replace it with --force.")


@contextmanager
def interrupts_allowed() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal end the command as Ctrl-C does: children and temporary folders go too."""
    try:
        with Interrupts() as interrupts:
            interrupts.allow()
            yield
    except CheckInterrupted as stop:
        raise KeyboardInterrupt(stop.number) from None


def _confirmed_plan(asked: PlanQuestion, matrix: Matrix, *, offline: bool, quiet: bool, as_text: bool) -> ConfirmedPlan:
    """Return the plan, with the other packages that uv resolves unless that is impossible or not wanted."""
    if not offline and sys.platform.startswith("linux"):
        with display_for_terminal(quiet=quiet, report_is_text=as_text) as progress:
            return confirmed_plan(asked, matrix, progress)
    why = "--offline" if offline else "uv is asked on Linux only"
    plan = plan_from_tables(asked, matrix)
    return ConfirmedPlan(msgspec.structs.replace(plan, resolver_note=f"Planned from the tables alone ({why})."))
