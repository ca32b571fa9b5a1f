"""Makes a planned environment and trains in it."""

from __future__ import annotations

import sys
import time

import msgspec

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import examine_machine
from gpudoctor.cli import output
from gpudoctor.cli.progress_display import display_for_terminal
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.specifiers import parse_requirements
from gpudoctor.digits import short_number
from gpudoctor.errors import UsageError
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Level, Policy
from gpudoctor.plan.environments import environment_from_lock, space_needed_and_free
from gpudoctor.plan.proposal import PlanQuestion
from gpudoctor.plan.resolution import ConfirmedPlan
from gpudoctor.report import oneline
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.report.plan import Environment, Plan, Verification
from gpudoctor.snapshot import Missing, Snapshot

_BYTES_PER_GB = 10**9
_VERDICT_ORDER = ("ready", "degraded", "unknown", "broken")
"""The verdicts, each worse than the one before."""


def verified_plan(found: ConfirmedPlan, platform: str, keep: str | None, *, yes: bool, quiet: bool, as_text: bool) -> Plan:
    """Return the plan with what a check in a real environment found. Raises UsageError if no environment can be made."""
    plan = found.plan
    if plan.environment is None:
        return plan
    if not found.lock:
        raise UsageError(f"--verify needs the files that uv would install. {plan.resolver_note}")
    _confirm_download(plan.environment.download_bytes, keep, yes=yes)
    began = time.monotonic()
    with (
        display_for_terminal(quiet=quiet, report_is_text=as_text) as progress,
        environment_from_lock(found.lock, plan.environment.python, keep, progress) as folder,
    ):
        policy = Policy(level=Level.TRAIN, allow_cpu=True)
        examination = examine_machine(CheckOptions(policy=policy, python=folder), progress)
    _require_same_platform(examination.snapshot, platform)
    return concluded_plan(
        plan, plan.environment, build_report(examination, "check", ("gpudoctor", "check")), keep or "", time.monotonic() - began
    )


def concluded_plan(plan: Plan, here: Environment, report: Report, folder: str, seconds: float) -> Plan:
    """Return the plan with what a check of its environment found: the headline, the verdict and the exit code follow the worse of both."""
    verdict = max(here.verdict, report.verdict, key=_VERDICT_ORDER.index)
    proven = _unexpected_result(here.name, report) if verdict != here.verdict else ""
    return msgspec.structs.replace(
        plan,
        headline=proven or plan.headline,
        environment=msgspec.structs.replace(here, verdict=verdict),
        exit_code={"broken": BROKEN, "unknown": UNKNOWN}.get(verdict, READY),
        verification=_verification(report, folder, seconds),
    )


def _unexpected_result(name: str, report: Report) -> str:
    """Return in a sentence what a check found in the environment that the plan did not expect."""
    why = report.causes[0].message if report.causes else report.because
    found = {"broken": "it cannot train", "unknown": "whether it trains was not verified"}.get(report.verdict, "it trains, with a warning")
    return f"An environment with {name} was made, and {found}: {why.rstrip('.')}."


def question_with_numpy(asked: PlanQuestion) -> PlanQuestion:
    """Return the question with NumPy, which the training needs and PyTorch does not require."""
    named = {wanted.name for wanted in parse_requirements(asked.requirements)}
    return asked if "numpy" in named else msgspec.structs.replace(asked, requirements=(*asked.requirements, "numpy"))


def _confirm_download(download: int | None, keep: str | None, *, yes: bool) -> None:
    """Ask before a download; raise UsageError if that is refused, cannot be asked, or the disk is too small."""
    needed, free = space_needed_and_free(download, keep)
    if needed > free:
        raise UsageError(
            f"--verify may take {needed / _BYTES_PER_GB:.1f} GB of disk and {free / _BYTES_PER_GB:.1f} GB are free; name another disk with --keep."
        )
    size = f"{short_number(download / _BYTES_PER_GB, 2)} GB" if download else "an unknown amount"
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"--verify downloads {size} and takes up to {needed / _BYTES_PER_GB:.1f} GB of disk; confirm with --yes.")
    output.print_error(f"gpudoctor: --verify downloads {size} and takes up to {needed / _BYTES_PER_GB:.1f} GB of disk. Continue? [y/N]")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UsageError("Nothing was downloaded.")


def _require_same_platform(seen: Snapshot, platform: str) -> None:
    here = wheel_platform.platform_name(seen.host, seen.python)
    if here != platform:
        raise UsageError(
            f"--verify runs on this machine ({wheel_platform.platform_label(here)}), and the plan is for {wheel_platform.platform_label(platform)}."
        )


def _verification(report: Report, folder: str, seconds: float) -> Verification:
    smokes = () if isinstance(report.snapshot.smoke, Missing) else report.snapshot.smoke
    devices = tuple(dict.fromkeys(run.device for smoke in smokes for run in smoke.trainings))
    return Verification(
        verdict=report.verdict,
        summary=oneline.render(report),
        devices=devices,
        folder=folder,
        seconds=round(seconds, 1),
    )
