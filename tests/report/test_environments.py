"""The line of an environment: its own root cause, or what was not checked."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gpudoctor.report.build import build_report
from gpudoctor.report.environments import NO_FRAMEWORK, environment_row
from tests.report import machines, samples

BROKEN, HEALTHY = machines.report("driver-470-tensorflow-cuda-12"), machines.report("healthy-one")
KNOWN: dict[str, Any] = {"path": "/srv/venv", "python": "/srv/venv/bin/python", "kind": "virtual environment"}


def test_its_own_root_cause_is_why() -> None:
    found = environment_row(BROKEN, HEALTHY, KNOWN)
    assert (found.verdict, found.code, found.why) == ("broken", "GD203", BROKEN.causes[0].message)


def test_a_cause_of_the_machine_is_not_said_again() -> None:
    found = environment_row(BROKEN, BROKEN, KNOWN)
    assert (found.verdict, found.code, found.why) == ("broken", None, "")


def test_what_was_not_checked_is_why_it_is_unknown() -> None:
    unknown = build_report(replace(samples.unknown, diagnosis=replace(samples.unknown.diagnosis, findings=())))
    found = environment_row(unknown, HEALTHY, KNOWN, ("one thing; and its half", "another"))
    assert (found.verdict, found.code, found.why) == ("unknown", None, "one thing; and its half")


def test_without_a_framework_there_is_nothing_to_say() -> None:
    found = environment_row(machines.report("no-framework"), HEALTHY, KNOWN)
    assert (found.verdict, found.why) == (NO_FRAMEWORK, "")


def test_an_interpreter_that_does_not_start_has_no_version() -> None:
    found = environment_row(None, HEALTHY, {**KNOWN, "verdict": "unknown", "why": "it does not start"})
    assert (found.version, found.why) == (None, "it does not start")
