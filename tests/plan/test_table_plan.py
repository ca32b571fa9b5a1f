"""Without an installer a package without a version is what the tables know as newest, and is pinned where that does not work."""

from __future__ import annotations

import pytest

from gpudoctor.findings import Policy, Verdict
from gpudoctor.plan import check_combination
from gpudoctor.plan.table_plan import plan_from_tables
from gpudoctor.report.plan import Plan
from tests.plan.planned import MATRIX, asked, combination, pins

BESIDE = ("transformers", "accelerate", "diffusers", "lightning", "timm", "numpy", "scipy", "keras", "protobuf")
FRAMEWORKS = ("torch==2.1.0", "torch==2.4.0", "torch<=2.15.0", "tensorflow[and-cuda]==2.17.0", "jax[cuda12]==0.4.30")


def from_tables(*requirements: str) -> Plan:
    return plan_from_tables(asked("a100", "550.54.14", *requirements, python="3.11"), MATRIX)


def test_a_package_whose_newest_release_does_not_work_with_the_others_is_pinned() -> None:
    plan = from_tables("transformers", "torch==2.1.0")
    framework, *added = pins(plan)
    assert (plan.exit_code, framework, "numpy<2" in added) == (0, "torch==2.1.0", True)
    assert any(pin.startswith("transformers==4.") for pin in added)


def test_a_package_whose_newest_release_works_is_left_to_the_installer() -> None:
    assert pins(from_tables("transformers", "torch<=2.15.0"))[0] == "transformers"


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("beside", BESIDE)
def test_what_is_planned_works_as_an_installer_chooses_the_rest(beside: str, framework: str) -> None:
    plan = from_tables(beside, framework)
    assert plan.environment is not None
    diagnosis = check_combination(combination("a100", "550.54.14", *pins(plan), python="3.11"), Policy(level=None)).diagnosis
    assert diagnosis.verdict is not Verdict.BROKEN
