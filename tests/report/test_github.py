"""The annotations of GitHub Actions, read as the runner reads them."""

from __future__ import annotations

import re

import msgspec
import pytest

from gpudoctor.findings import Policy, Severity
from gpudoctor.report import github, oneline
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.report.words import printable_text
from tests.report import machines, samples

REPORTS = {name: build_report(sample) for name, sample in samples.ALL.items()}
_COMMAND = re.compile(r"::(error|warning|notice) title=([^:,]+)::(.*)")


def annotated(report: Report) -> list[tuple[str, str, str]]:
    """Return kind, title and message of each annotation."""
    *lines, last = github.render(report).splitlines()
    assert last == printable_text(oneline.render(report), plain=False)
    assert not last.startswith("::")
    found = [_COMMAND.fullmatch(line) for line in lines]
    assert all(found), lines
    return [(match[1], unescaped(match[2]), unescaped(match[3])) for match in found if match]


def unescaped(value: str) -> str:
    """Return what the runner makes of a value: the percent sign comes last, as in its ActionCommand.cs."""
    for code, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        value = value.replace(code, sign)
    return value


def check(report: Report) -> None:
    kinds = [kind for kind, _, _ in annotated(report)]
    assert ("error" in kinds) == (report.exit_code != 0)
    titles = [title for _, title, _ in annotated(report)]
    for finding in report.findings:
        assert finding.because_of or any(title.startswith(f"{finding.code} ") for title in titles)


@pytest.mark.parametrize("name", samples.ALL)
def test_every_sample(name: str) -> None:
    check(REPORTS[name])


def test_an_annotation_says_what_is_wrong_and_how_to_fix_it() -> None:
    ((kind, title, message),) = annotated(REPORTS["mismatch"])
    finding = REPORTS["mismatch"].findings[0]
    assert (kind, title) == ("error", f"GD202 {finding.title}")
    assert message.splitlines() == [
        finding.message,
        "Fix: Reboot, which loads the kernel driver that belongs to the libraries (needs root and a reboot): sudo reboot",
        finding.url,
    ]


def test_what_is_the_same_for_all_gpus_is_one_annotation() -> None:
    ((kind, title, message),) = annotated(machines.report("eight-all-lost-in-mid-look"))
    assert kind == "error"
    assert title.endswith("(GPUs 0–7)")  # noqa: RUF001 -- a dash joins neighbours
    assert "The same on GPUs 1–7." in message  # noqa: RUF001


def test_a_warning_that_fails_the_step_is_an_error() -> None:
    strict = msgspec.structs.replace(
        samples.degraded,
        policy=Policy(fail_on=Severity.WARNING),
        diagnosis=msgspec.structs.replace(samples.degraded.diagnosis, exit_code=1),
    )
    assert [kind for kind, _, _ in annotated(build_report(strict))] == ["error", "notice"]
    assert [kind for kind, _, _ in annotated(REPORTS["degraded"])] == ["warning", "notice"]


@pytest.mark.parametrize("told", ["100%", "a\r\n::error::b", "x,file=a::b", "%0A", "##[error]x", "::stop-commands::x"])
def test_no_text_becomes_a_command(told: str) -> None:
    finding = msgspec.structs.replace(samples.NO_GPU, message=told, title=told)
    diagnosis = msgspec.structs.replace(samples.broken_no_gpu.diagnosis, findings=(finding,))
    ((_, title, message),) = annotated(build_report(msgspec.structs.replace(samples.broken_no_gpu, diagnosis=diagnosis)))
    assert title == f"GD101 {printable_text(told, plain=False)}"
    assert message.splitlines()[0] == printable_text(told, plain=False)
