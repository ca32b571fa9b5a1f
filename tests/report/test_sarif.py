"""The report as SARIF holds all that GitHub requires of an alert; tests/test_sarif_schema.py holds it against the standard."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from gpudoctor.findings import Skipped
from gpudoctor.report import sarif
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from tests.report import machines, samples

REPORTS = {name: build_report(sample) for name, sample in samples.ALL.items()}


def run(report: Report) -> dict[str, Any]:
    document = json.loads(sarif.render(report))
    assert document["version"] == "2.1.0"
    (only,) = document["runs"]
    return dict(only)


def check(report: Report) -> None:
    """Check what the schema cannot say. https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning."""
    found = run(report)
    rules = found["tool"]["driver"]["rules"]
    for rule in rules:
        assert all((rule["shortDescription"]["text"], rule["fullDescription"]["text"], rule["help"]["text"], rule["help"]["markdown"]))
        assert len(rule["shortDescription"]["text"]) < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["helpUri"].startswith("https://")
    assert [result["fingerprints"]["finding/v1"] for result in found["results"]] == [finding.id for finding in report.findings]
    hashes = [result["partialFingerprints"]["primaryLocationLineHash"] for result in found["results"]]
    assert len(set(hashes)) == len(hashes)
    for result, finding in zip(found["results"], report.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.code
        text = result["message"]["text"]
        assert text.replace("{{", "{").replace("}}", "}").startswith(finding.message)
        assert not re.search(r"(?<!\{)\{(\{\{)*(?!\{)", text), "a placeholder"
        assert result["level"] == ("none" if finding.because_of else finding.severity)
        assert (result["kind"] == "fail") == (not finding.because_of)
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] == 1
        assert location["physicalLocation"]["artifactLocation"]["uri"]


@pytest.mark.parametrize("name", sorted({*samples.ALL} - {"looked"}))  # its GD704 is another rule by now
def test_every_sample(name: str) -> None:
    check(REPORTS[name])


def test_an_invocation_says_how_the_check_ended() -> None:
    invocation = run(machines.report(machines.NAMES[0]))["invocations"][0]
    assert invocation["commandLine"] == "gpudoctor check --python '~/my env'"
    assert invocation["arguments"] == ["check", "--python", "~/my env"]
    assert invocation["executionSuccessful"]
    assert not run(REPORTS["interrupted"])["invocations"][0]["executionSuccessful"]


def test_what_was_not_checked_or_skipped_is_a_notification() -> None:
    skipped = (Skipped("GD102", "gpu-count-mismatch", "a guest's card"),)
    sample = msgspec.structs.replace(samples.degraded, diagnosis=msgspec.structs.replace(samples.degraded.diagnosis, skipped=skipped))
    invocation = run(build_report(sample))["invocations"][0]
    assert invocation["toolExecutionNotifications"] == [
        {"level": "error", "message": {"text": "GD205 driver-hung crashed: ZeroDivisionError: division by zero"}}
    ]
    assert invocation["toolConfigurationNotifications"] == [
        {"level": "note", "message": {"text": "GD102 gpu-count-mismatch was skipped: a guest's card"}}
    ]


def test_no_text_of_the_machine_steers_a_viewer() -> None:
    report = build_report(samples.mismatch)
    hostile = tuple(msgspec.structs.replace(finding, message="\x1b[2Jcleared\u202e") for finding in report.findings)
    told = json.dumps(run(msgspec.structs.replace(report, findings=hostile))["results"], ensure_ascii=False)
    assert "cleared" in told
    assert "\\u001b" not in told
    assert "\u202e" not in told
