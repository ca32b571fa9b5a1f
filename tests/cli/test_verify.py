"""What a plan says after a check of its environment: the headline, the verdict and the exit code follow what was proven."""

from __future__ import annotations

import msgspec
import pytest

from gpudoctor.cli.verify import concluded_plan
from gpudoctor.report.page import PageLook
from gpudoctor.report.plan import Plan
from gpudoctor.report.plan_text import render
from tests.plan.planned import TORCH, planned
from tests.report.machines import NAMES, report

ORDER = ("ready", "degraded", "unknown", "broken")
EXIT_CODES = {"ready": 0, "degraded": 0, "unknown": 3, "broken": 1}


def after(name: str, *requirements: str) -> tuple[Plan, Plan]:
    """Return a plan, and the same after a check that found what it found on a recorded machine."""
    plan = planned("L4", "580.65.06", *requirements)
    assert plan.environment is not None
    return plan, concluded_plan(plan, plan.environment, report(name), "", 1.0)


@pytest.mark.parametrize("requirements", [(TORCH,), (TORCH, "fbgemm-gpu")])
@pytest.mark.parametrize("name", NAMES[::15])
def test_the_headline_follows_the_worse_of_plan_and_check(name: str, requirements: tuple[str, ...]) -> None:
    plan, verified = after(name, *requirements)
    assert plan.environment is not None
    assert verified.environment is not None
    worse = max(plan.environment.verdict, report(name).verdict, key=ORDER.index)
    assert (verified.environment.verdict, verified.exit_code) == (worse, EXIT_CODES[worse])
    assert (verified.headline == plan.headline) is (worse == plan.environment.verdict)
    assert worse.upper() in render(verified, PageLook()).partition("\n")[0]
    assert worse in {"ready", "degraded"} or " works on this machine" not in verified.headline


def test_what_the_check_found_is_told() -> None:
    broken = next(name for name in NAMES if report(name).verdict == "broken")
    _, verified = after(broken, TORCH)
    assert verified.headline == (
        f"An environment with torch 2.15.0 for CUDA 13.2 was made, and it cannot train: {report(broken).causes[0].message.rstrip('.')}."
    )
    assert msgspec.structs.asdict(verified)["verification"].verdict == "broken"
