"""Makes a planned environment and trains in it."""

from __future__ import annotations

import sys
import time

import msgspec

from gpudoctor.check.model import CheckOptions
from gpudoctor.check.run import run
from gpudoctor.cli import output
from gpudoctor.cli.live import display
from gpudoctor.derive import wheel_platform
from gpudoctor.derive.specifiers import requirements_in
from gpudoctor.digits import digits
from gpudoctor.errors import UsageError
from gpudoctor.exit_codes import BROKEN, READY, UNKNOWN
from gpudoctor.findings import Level, Policy
from gpudoctor.plan.environments import made, space
from gpudoctor.plan.propose import Question
from gpudoctor.plan.resolution import Confirmed
from gpudoctor.report import oneline
from gpudoctor.report.build import build
from gpudoctor.report.model import Report
from gpudoctor.report.plan import Environment, Plan, Verification
from gpudoctor.snapshot import Missing, Snapshot

_GB = 10**9
_WORSE = ("ready", "degraded", "unknown", "broken")
"""The verdicts, each worse than the one before."""


def verified(found: Confirmed, platform: str, keep: str | None, *, yes: bool, quiet: bool, as_text: bool) -> Plan:
    """Return the plan with what a check in a real environment found. Raises UsageError if no environment can be made."""
    plan = found.plan
    if plan.environment is None:
        return plan
    if not found.lock:
        raise UsageError(f"--verify needs the files that uv would install. {plan.resolver_note}")
    _ask(plan.environment.download_bytes, keep, yes=yes)
    began = time.monotonic()
    with display(quiet=quiet, report_is_text=as_text) as progress, made(found.lock, plan.environment.python, keep, progress) as folder:
        policy = Policy(level=Level.TRAIN, allow_cpu=True)
        examination = run(CheckOptions(policy=policy, python=folder), progress)
    _same_platform(examination.snapshot, platform)
    return concluded(plan, plan.environment, build(examination, "check", ("gpudoctor", "check")), keep or "", time.monotonic() - began)


def concluded(plan: Plan, here: Environment, report: Report, folder: str, seconds: float) -> Plan:
    """Return the plan with what a check of its environment found: the headline, the verdict and the exit code follow the worse of both."""
    verdict = max(here.verdict, report.verdict, key=_WORSE.index)
    proven = _proven(here.name, report) if verdict != here.verdict else ""
    return msgspec.structs.replace(
        plan,
        headline=proven or plan.headline,
        environment=msgspec.structs.replace(here, verdict=verdict),
        exit_code={"broken": BROKEN, "unknown": UNKNOWN}.get(verdict, READY),
        verification=_told(report, folder, seconds),
    )


def _proven(name: str, report: Report) -> str:
    """Return in a sentence what a check found in the environment that the plan did not expect."""
    why = report.causes[0].message if report.causes else report.because
    found = {"broken": "it cannot train", "unknown": "whether it trains was not verified"}.get(report.verdict, "it trains, with a warning")
    return f"An environment with {name} was made, and {found}: {why.rstrip('.')}."


def trainable(asked: Question) -> Question:
    """Return the question with NumPy, which the training needs and PyTorch does not require."""
    named = {wanted.name for wanted in requirements_in(asked.requirements)}
    return asked if "numpy" in named else msgspec.structs.replace(asked, requirements=(*asked.requirements, "numpy"))


def _ask(download: int | None, keep: str | None, *, yes: bool) -> None:
    """Ask before a download; raise UsageError if that is refused, cannot be asked, or the disk is too small."""
    needed, free = space(download, keep)
    if needed > free:
        raise UsageError(
            f"--verify may take {needed / _GB:.1f} GB of disk and {free / _GB:.1f} GB are free; name another disk with --keep."
        )
    size = f"{digits(download / _GB, 2)} GB" if download else "an unknown amount"
    if yes:
        return
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(f"--verify downloads {size} and takes up to {needed / _GB:.1f} GB of disk; confirm with --yes.")
    output.say(f"gpudoctor: --verify downloads {size} and takes up to {needed / _GB:.1f} GB of disk. Continue? [y/N]")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise UsageError("Nothing was downloaded.")


def _same_platform(seen: Snapshot, platform: str) -> None:
    here = wheel_platform.name(seen.host, seen.python)
    if here != platform:
        raise UsageError(
            f"--verify runs on this machine ({wheel_platform.label(here)}), and the plan is for {wheel_platform.label(platform)}."
        )


def _told(report: Report, folder: str, seconds: float) -> Verification:
    smokes = () if isinstance(report.snapshot.smoke, Missing) else report.snapshot.smoke
    devices = tuple(dict.fromkeys(run.device for smoke in smokes for run in smoke.trainings))
    return Verification(
        verdict=report.verdict,
        summary=oneline.render(report),
        devices=devices,
        folder=folder,
        seconds=round(seconds, 1),
    )
