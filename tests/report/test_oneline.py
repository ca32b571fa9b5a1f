"""The one line: short, ASCII, and first things first."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.report import oneline
from gpudoctor.report.build import build_report
from tests.report import machines, samples

LINES = {
    "compat_broken": "BROKEN GD203 The driver is older than the CUDA that the framework was... (+1)",
    "compat_ready": "READY no conflict is known; nothing was tried",
    "compat_unknown": "UNKNOWN the tables do not know torch 9.0: 9.0 is newer than 2.15.0, the...",
    "broken_no_gpu": "BROKEN GD101 No NVIDIA GPU is on the PCI bus",
    "mismatch": "BROKEN GD202 The loaded kernel driver and the driver's libraries are of...",
    "one_lost": "BROKEN GD102 GPU 5 0000:15:00.0: A GPU of this machine cannot be opened...",
    "degraded": "DEGRADED GD501 The framework's build has no CUDA (GD205 crashed)",
    "ready": "READY trained on 8 of 8 GPUs",
    "looked": "READY CUDA initialised on 1 of 1 GPU",
    "unknown": "UNKNOWN training was not verified on GPUs 0-1: in use by python3 (pid 4711)...",
    "on_cpu": "READY trained on the CPU (tensorflow), no GPU",
    "interrupted": "UNKNOWN stopped by Ctrl-C (SIGINT); nothing was verified on 1 GPU",
}


@pytest.mark.parametrize("name", samples.ALL)
def test_line(name: str) -> None:
    assert oneline.render(build_report(samples.ALL[name])) == LINES[name]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("word " * 30, "word " * 12 + "word..."),
        ("x" * 100, "x" * 64 + "..."),
        ("short, then " + "x" * 100, "short, then " + "x" * 52 + "..."),
        ("x" * 67, "x" * 67),
        ("x" * 68, "x" * 64 + "..."),
    ],
)
def test_a_long_title_ends_at_a_word_unless_that_would_waste_half_of_the_line(title: str, shown: str) -> None:
    report = build_report(samples.mismatch)
    line = oneline.render(msgspec.structs.replace(report, findings=(msgspec.structs.replace(report.findings[0], title=title),)))
    assert line == f"BROKEN GD202 {shown}"


def test_further_causes_are_counted_and_notes_and_consequences_are_not() -> None:
    report = build_report(samples.mismatch)
    other = msgspec.structs.replace(report.findings[0], id="GD999", severity="warning")
    note = msgspec.structs.replace(report.findings[0], id="GD998", severity="note")
    line = oneline.render(msgspec.structs.replace(report, findings=(*report.findings, other, note)))
    assert line == "BROKEN GD202 The loaded kernel driver and the driver's libraries are of... (+1)"


def test_a_title_about_gpus_follows_their_names() -> None:
    title = machines.report("eight-one-lost").causes[0].title
    assert oneline.render(machines.report("eight-one-lost")) == f"BROKEN GD103 GPU 3 0000:1f:00.0: {title}"
    assert oneline.render(machines.report("eight-all-lost-in-mid-look")) == f"BROKEN GD103 GPUs 0-7: {title}"


def test_the_line_of_every_machine_names_the_code_and_the_gpus() -> None:
    for name in machines.NAMES:
        report = machines.report(name)
        line = oneline.render(report)
        assert len(line.encode("ascii")) <= 80
        if report.causes and report.verdict != "unknown":
            assert line.startswith(f"{report.verdict.upper()} {report.causes[0].code} ")
            numbers = [row.index for row in report.ladder if row.subject == report.causes[0].subject]
            assert not numbers or numbers[0] is None or re.search(rf" GPUs? {numbers[0]}\b", line)


@given(title=st.text(), because=st.text(), name=st.sampled_from(sorted(samples.ALL)), more=st.integers(0, 1000))
def test_never_more_than_80_bytes_of_printable_ascii(title: str, because: str, name: str, more: int) -> None:
    report = build_report(samples.ALL[name])
    findings = tuple(msgspec.structs.replace(finding, title=title) for finding in (*report.findings, *report.findings[:1] * more))
    line = oneline.render(msgspec.structs.replace(report, findings=findings, because=because))
    assert len(line.encode("ascii")) <= 80
    assert line.isprintable()
    assert line.startswith(report.verdict.upper())
