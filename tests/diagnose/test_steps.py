"""A defect in any step of the diagnosis, of what it derives or of the report costs that step: the rest is reported, and the exit code is 4."""

from __future__ import annotations

import ast
import inspect
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import gpudoctor.diagnose as package
from gpudoctor.cli import delivery
from gpudoctor.cli.destinations import Destination
from gpudoctor.cli.formats import FOR_PEOPLE, Format
from gpudoctor.cli.settings import Delivery
from gpudoctor.derive import GpuView, MachineView
from gpudoctor.diagnose import diagnose, diagnosis_in_steps, log_reading
from gpudoctor.errors import UnfinishedError
from gpudoctor.examination import Examination
from gpudoctor.exit_codes import CRASHED
from gpudoctor.findings import Diagnosis, Level, Policy, Verdict
from gpudoctor.matrix import Matrix
from gpudoctor.read.texts import read_text
from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.page import PageLook
from tests.builders import machine
from tests.machines.diagnoses import diagnosis as known_diagnosis
from tests.machines.store import recorded

LOOK = Policy(level=Level.LOOK)
OF_TEXT = {"runs_with_reported", "said.runs_with_causes", "said.doubted_causes"}
METHODS = {
    "said.runs_with_causes": (log_reading.LogReading, "runs_with_causes"),
    "said.doubted_causes": (log_reading.LogReading, "doubted_causes"),
}
"""The steps of a text are of an object."""
SECTIONS = ("opening.draw", "causes.draw", "stages.draw", "causes.draw_notes", "not_checked.draw", "details.draw")
OTHERS = {"assumptions.draw", "training.draw"}
"""Not part of the report of a live machine."""


def planted(*_: object, **__: object) -> Any:
    raise ZeroDivisionError("planted")


def called(function: Any, caller: str) -> list[str]:
    """Return what a function passes to `caller` first, in the order of its text."""
    calls = (node for node in ast.walk(ast.parse(inspect.getsource(function))) if isinstance(node, ast.Call))
    return sorted({ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == caller})


def derived() -> list[tuple[type, str]]:
    """Return every property of the views of a machine and a GPU that code of theirs works out."""
    return [
        (kind, name)
        for kind in (MachineView, GpuView)
        for name in dir(kind)
        if isinstance(inspect.getattr_static(kind, name), property | cached_property)
    ]


def reported(found: Diagnosis) -> str:
    """Return the report as JSON and text; either may have a section missing, neither is lost."""
    report = build_report(Examination(snapshot=machine(2), diagnosis=found, policy=LOOK, matrix_date="2026-01-01"))
    return terminal.render(report, PageLook(verbose=True))


@pytest.mark.parametrize("step", called(diagnosis_in_steps, "steps"))
def test_a_defect_in_a_step_of_the_diagnosis(step: str, matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name = METHODS.get(step, (package, step))
    monkeypatch.setattr(owner, name, planted)
    pasted = read_text(b"RuntimeError: CUDA error: out of memory\n", "pasted", matrix, "2026-01-02T03:04:05Z")
    found = diagnose(pasted if step in OF_TEXT else machine(2), matrix, LOOK)
    assert found.exit_code == (1 if found.verdict is Verdict.BROKEN else CRASHED)
    assert "planted" in found.because
    assert found.outcomes
    assert "planted" in reported(found)


@pytest.mark.parametrize(("kind", "name"), derived(), ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_defect_in_a_derived_fact(kind: type, name: str, matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, name, property(planted))
    found = diagnose(machine(2), matrix, LOOK)
    crashed = [outcome for outcome in found.outcomes if "planted" in outcome.reason]
    assert not crashed or found.exit_code == CRASHED
    assert found.verdict.value != "ready" or not crashed
    assert reported(found)


def test_every_section_is_drawn_under_guard() -> None:
    assert set(called(terminal.render, "drawn")) == {*SECTIONS, *OTHERS}


@pytest.mark.parametrize("form", sorted(FOR_PEOPLE))
def test_what_was_found_is_written_where_the_drawing_of_a_report_crashes(
    form: Format, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, file = "kernel-meets-ecc-error", tmp_path / "report"
    found = Examination(snapshot=recorded(name), diagnosis=known_diagnosis(name), policy=LOOK, matrix_date="2026-01-01")
    monkeypatch.setattr(delivery, "_rendered_report", planted)
    with pytest.raises(ZeroDivisionError, match="planted"):
        delivery.deliver_reports(
            found, "check", Delivery(destinations=(Destination(form, str(file)),), quiet=True, no_color=True, root="/")
        )
    lines = file.read_text().splitlines()
    assert lines[0].startswith("    BROKEN")
    assert any(line.startswith("    error GD") for line in lines)
    assert any(line.startswith("      fix: ") for line in lines)
    assert lines[-1].endswith("ZeroDivisionError: planted")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_defect_in_a_section_of_the_report(section: str, matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, _, name = section.rpartition(".")
    whole = reported(diagnose(machine(2), matrix, LOOK))
    monkeypatch.setattr(getattr(terminal, owner), name, planted)
    with pytest.raises(UnfinishedError) as unfinished:
        reported(diagnose(machine(2), matrix, LOOK))
    assert "planted" in unfinished.value.text
    assert len(set(unfinished.value.text.splitlines()) & set(whole.splitlines())) > 2
