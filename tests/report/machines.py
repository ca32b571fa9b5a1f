"""The reports of all recorded machines, as `gpudoctor check` makes them."""

from __future__ import annotations

from functools import cache

from gpudoctor.examination import Examination
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from tests.machines import store
from tests.machines.diagnoses import diagnosis

NAMES = store.NAMES


@cache
def report(name: str) -> Report:
    """Return the report of a recorded machine."""
    found = Examination(snapshot=store.recorded(name), diagnosis=diagnosis(name), policy=store.policy(name), matrix_date="2026-11-20")
    return build_report(found, "check", ("gpudoctor", "check", "--python", "~/my env"))
