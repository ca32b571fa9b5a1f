"""What each finding costs the user."""

from __future__ import annotations

import functools

import pytest

from gpudoctor.diagnose.rules import RULES
from gpudoctor.findings import Finding, Impact, Severity
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES


@functools.cache
def findings() -> list[Finding]:
    return [finding for name in NAMES for finding in diagnosis(name).findings]


@pytest.mark.untraced
def test_every_rule_that_warns_says_what_its_warnings_cost() -> None:
    usual = {rule.name for rule in RULES if rule.severity is Severity.WARNING}
    seen = {finding.name for finding in findings() if finding.severity is Severity.WARNING}
    assert usual | seen <= {rule.name for rule in RULES if rule.impact}


@pytest.mark.untraced
def test_only_a_note_costs_nothing_and_only_an_error_all_training() -> None:
    for finding in findings():
        assert (finding.impact is Impact.NONE) == (finding.severity is Severity.NOTE)
        assert (finding.impact in {Impact.CANNOT_TRAIN, Impact.REQUIREMENT}) == (finding.severity is Severity.ERROR)


def test_a_requirement_that_is_not_met_does_not_keep_from_training() -> None:
    impacts = {(finding.name, finding.impact) for finding in diagnosis("required-driver-newer").findings}
    assert impacts == {("requirement-not-met", Impact.REQUIREMENT)}
