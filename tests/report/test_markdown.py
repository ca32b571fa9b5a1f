"""The report as Markdown: what an issue's reader needs comes first, and all of it is well-formed."""

from __future__ import annotations

import re

import msgspec
import pytest
from markdown_it import MarkdownIt

from gpudoctor.report import markdown
from gpudoctor.report.build import build_report
from gpudoctor.report.headline import headline_of_report
from gpudoctor.report.model import Report
from tests.report import machines, samples

REPORTS = {**{name: build_report(sample) for name, sample in samples.ALL.items()}}
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def headings(report: Report) -> list[str]:
    tokens = READER.parse(markdown.render(report))
    return [tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"]


def check(report: Report) -> None:
    written = markdown.render(report)
    assert len(written) <= 65_536
    assert written.endswith("\n")
    assert written.count("<details>") == written.count("</details>") == written.count("<summary>")
    first, *others = headings(report)
    assert headline_of_report(report).mark.word in first
    for cause in report.causes:
        assert any(heading.startswith(f"[{cause.code}]({cause.url})") for heading in others)
    commands = {
        line for token in READER.parse(written) if token.type == "fence" and token.info == "sh" for line in token.content.splitlines()
    }
    assert commands == {line for cause in report.causes for fix in cause.fixes for line in fix.command.splitlines()}
    tables = [token for token in READER.parse(written) if token.type == "table_open"]
    evidence = any(cause.evidence for cause in report.causes)
    tried = any(step.state in {"proven", "failed", "masked"} for row in report.ladder for step in row.steps)
    assert len(tables) == tried + evidence


@pytest.mark.parametrize("name", samples.ALL)
def test_every_sample(name: str) -> None:
    check(REPORTS[name])


def test_the_headline_says_what_is_wrong_and_the_fix_follows() -> None:
    lines = [line for line in markdown.render(REPORTS["mismatch"]).splitlines() if line]
    assert lines[0].startswith("## ✗ BROKEN: The kernel driver is 535.154.05")
    assert lines[1].startswith("8 × NVIDIA H100 80GB HBM3 · driver 550.163.01")  # noqa: RUF001 -- a cross counts
    assert lines[2].startswith("### [GD202]")
    assert lines[3].startswith("**Fix:** Reboot")
    assert lines[4:7] == ["```sh", "sudo reboot", "```"]
    assert lines[7] == "Verify: `nvidia-smi`"


def test_equal_gpus_share_a_row() -> None:
    rows = re.findall(r"^\| (GPUs? \d.*?) \|", markdown.render(REPORTS["one_lost"]), re.MULTILINE)
    assert rows == ["GPUs 0–4, 6–7 NVIDIA H100 80GB HBM3", "GPU 5 NVIDIA H100 80GB HBM3"]  # noqa: RUF001 -- a dash joins neighbours


def test_a_report_too_long_for_an_issue_loses_its_last_details_only() -> None:
    report = machines.report(max(machines.NAMES, key=lambda name: len(machines.report(name).could_not_tell)))
    untold = msgspec.structs.replace(report.could_not_tell[0], reason="why " * 20_000, because_of=())
    long = msgspec.structs.replace(report, could_not_tell=(untold,))
    assert len(markdown.render(long)) <= markdown.MAX_LETTERS
    assert headings(long) == headings(report)
