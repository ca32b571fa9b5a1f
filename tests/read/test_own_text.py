"""A report of gpudoctor that is printed as text and pasted keeps its root causes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Diagnosis, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.read.readers import gpudoctor_report
from gpudoctor.read.statements import Line
from gpudoctor.read.texts import read_text
from gpudoctor.report import markdown, terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.report.page import PageLook
from tests.report import machines, samples

FORMS: dict[str, Callable[[Report], str]] = {
    "terminal": terminal.render,
    "everything": lambda report: terminal.render(report, PageLook(verbose=True)),
    "narrow": lambda report: terminal.render(report, PageLook(width=40)),
    "ascii and colour": lambda report: terminal.render(report, PageLook(plain=True, colour=True, width=120)),
    "markdown": markdown.render,
    "quoted": lambda report: "".join(f"> {line}\n" for line in markdown.render(report).splitlines()),
    "in an issue": lambda report: f"Training fails since the update.\n\n```\n{terminal.render(report)}```\nAny idea?\n",
    "cut off": lambda report: "".join(f"{line}\n" for line in terminal.render(report).splitlines()[:9]),
}


PIECES = [line for render in (terminal.render, markdown.render) for line in render(machines.report("eight-one-lost")).splitlines()]


def read_back(text: str, matrix: Matrix) -> Diagnosis:
    policy = Policy(level=None)
    return diagnose(read_text(text.encode(), "report.txt", matrix, "2026-11-22T00:00:00Z"), matrix, policy)


def roots(found: Diagnosis | Report) -> set[tuple[str, str]]:
    """Return the root causes that count, with their severity."""
    told = {(finding.code, Severity(finding.severity).value) for finding in found.findings if not finding.because_of}
    return {(code, severity) for code, severity in told if severity != "note"}


@pytest.mark.parametrize("form", FORMS)
def test_the_root_causes_of_recorded_machines_survive(form: str, matrix: Matrix) -> None:
    """Each form takes another third of the machines."""
    for name in machines.NAMES[list(FORMS).index(form) % 3 :: 3]:
        report = machines.report(name)
        text = FORMS[form](report)
        if form == "cut off" and report.verdict in {"ready", "unknown"}:
            continue
        found = read_back(text, matrix)
        assert roots(found) == roots(report), (name, text)
        assert (found.verdict.value == "broken") is (report.verdict == "broken")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [name for name in samples.ALL if not name.startswith("compat")])
def test_the_root_causes_of_every_sample_survive(name: str, form: str, matrix: Matrix) -> None:
    report = build_report(samples.ALL[name])
    if form != "cut off":
        assert roots(read_back(FORMS[form](report), matrix)) == roots(report)


def test_a_log_beside_a_report_is_still_read(matrix: Matrix) -> None:
    text = (
        terminal.render(machines.report("eight-one-lost"))
        + "\nImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n"
    )
    assert {code for code, _ in roots(read_back(text, matrix))} == {"GD103", "GD402"}


@pytest.mark.parametrize("line", ["! UNKNOWN option --cuda", "✗ BROKEN pipe", "## READY", "X DEGRADED array", "error GD103: of nothing"])
def test_a_line_of_another_program_is_no_report(line: str) -> None:
    assert gpudoctor_report.report_lines([Line(1, line)]) == []


@given(lines=st.lists(st.sampled_from(PIECES) | st.text(max_size=80), max_size=30))
def test_no_text_is_too_strange(lines: list[str]) -> None:
    every = [Line(number, text) for number, text in enumerate(lines, 1)]
    for report in gpudoctor_report.report_lines(every):
        told = [
            statement for statement in gpudoctor_report.report_statements(report) if statement.what.startswith(gpudoctor_report.CAUSE_KEY)
        ]
        assert all(statement.value.count("\t") >= 2 for statement in told)
