"""The report as JUnit XML: well-formed whatever it says, and red exactly where the exit code is not 0."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import msgspec
import pytest

from gpudoctor.findings import Policy, Severity, Skipped
from gpudoctor.report import junit
from gpudoctor.report.build import build_report
from gpudoctor.report.model import CouldNotTell, Finding, Passed, Report
from gpudoctor.snapshot import Host
from tests.report import samples

REPORTS = {name: build_report(sample) for name, sample in samples.ALL.items()}


def suite(report: Report) -> ET.Element:
    whole = ET.fromstring(junit.render(report))
    assert whole.tag == "testsuites"
    (only,) = whole
    return only


def cases(report: Report) -> dict[str, ET.Element]:
    found = suite(report).findall("testcase")
    named = {case.attrib["name"]: case for case in found}
    assert len(named) == len(found)
    return named


def case_of(one: Finding | Passed | CouldNotTell) -> str:
    return f"{one.code} {one.name}" + (f" [{one.subject.key}]" if one.subject.key else "")


@pytest.mark.parametrize("name", REPORTS)
class TestEveryReport:
    def test_is_red_exactly_where_the_exit_code_is_not_0(self, name: str) -> None:
        report = REPORTS[name]
        red = [case for case in cases(report).values() if case.find("failure") is not None or case.find("error") is not None]
        assert bool(red) == (report.exit_code != 0 or any(gap.kind == "crashed" for gap in report.could_not_tell))

    def test_counts_root_causes_as_failures(self, name: str) -> None:
        report = REPORTS[name]
        failed = {case for case, element in cases(report).items() if element.find("failure") is not None}
        fail_on = Severity(report.policy.fail_on)
        roots = {case_of(finding) for finding in report.findings if not finding.because_of and Severity(finding.severity) >= fail_on}
        assert failed == (roots or ({"verdict"} if report.exit_code else set()))

    def test_skips_what_follows_from_another_finding(self, name: str) -> None:
        for finding in REPORTS[name].findings:
            if finding.because_of and finding.severity == "error":
                skipped = cases(REPORTS[name])[case_of(finding)].find("skipped")
                assert skipped is not None
                assert skipped.attrib["message"] == f"explained by {', '.join(finding.because_of)}: {finding.message}"

    def test_counts_what_it_holds(self, name: str) -> None:
        whole = suite(REPORTS[name])
        for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(whole.attrib[attribute]) == len(list(whole.iter(tag)))

    def test_has_a_case_for_each_rule_and_subject(self, name: str) -> None:
        report = REPORTS[name]
        told: tuple[Finding | Passed | CouldNotTell, ...] = (*report.findings, *report.passed, *report.could_not_tell)
        assert set(cases(report)) - {"verdict"} == {case_of(one) for one in told}

    def test_each_case_has_one_ending_at_most(self, name: str) -> None:
        for case in cases(REPORTS[name]).values():
            assert len(case) <= 1


def test_the_forms_that_readers_need() -> None:
    whole = suite(REPORTS["ready"])
    assert whole.attrib["name"] == "gpudoctor check"
    assert whole.attrib["timestamp"] == "2026-11-21T04:00:00"
    assert whole.attrib["hostname"] == "localhost"
    assert float(whole.attrib["time"]) >= 0


def test_a_host_is_named_only_where_the_snapshot_names_it() -> None:
    sample = samples.ALL["ready"]
    named = msgspec.structs.replace(sample, snapshot=msgspec.structs.replace(sample.snapshot, host=Host(hostname="node-7")))
    assert suite(build_report(named)).attrib["hostname"] == "node-7"


def test_a_warning_is_told_and_fails_only_where_it_counts() -> None:
    sample = samples.ALL["degraded"]
    warning = next(finding for finding in sample.diagnosis.findings if finding.severity is Severity.WARNING)
    name = f"{warning.code} {warning.name}" + (f" [{warning.subject.key}]" if warning.subject.key else "")
    told = cases(build_report(sample))[name].find("system-out")
    assert told is not None
    assert warning.message in str(told.text)
    strict = msgspec.structs.replace(
        sample, policy=Policy(fail_on=Severity.WARNING), diagnosis=msgspec.structs.replace(sample.diagnosis, exit_code=1)
    )
    failure = cases(build_report(strict))[name].find("failure")
    assert failure is not None
    assert failure.attrib == {"message": warning.message, "type": "warning"}


def test_a_skipped_rule_is_a_skipped_case_with_its_reason() -> None:
    sample = samples.ALL["ready"]
    skipped = (Skipped("GD712", "persistence-mode-off", 'a "laptop" & <proud>'), Skipped("GD101", "no-gpu", ""))
    report = build_report(msgspec.structs.replace(sample, diagnosis=msgspec.structs.replace(sample.diagnosis, skipped=skipped)))
    messages = [case[0].attrib["message"] for case in suite(report).findall("testcase") if case.attrib["classname"] == "gpudoctor.rule"]
    assert messages == ['a "laptop" & <proud>', "left out with --skip"]


def test_a_crash_is_an_error_and_an_unchecked_rule_is_skipped() -> None:
    kinds = {gap.kind for report in REPORTS.values() for gap in report.could_not_tell}
    assert kinds == {"crashed", "could-not-tell"}
    for report in REPORTS.values():
        found = {(finding.code, finding.subject) for finding in report.findings}
        for gap in report.could_not_tell:
            if (gap.code, gap.subject) in found:
                continue
            case = cases(report)[case_of(gap)]
            ending = case.find("error" if gap.kind == "crashed" else "skipped")
            assert ending is not None
            assert gap.reason in ending.attrib["message"]


@pytest.mark.parametrize("text", ["\x00\x1b[31m", "\ud800", "\ufffe", "<&>\"']]>", "two\nlines\r", "\u202eright to left"])
def test_no_text_makes_it_unreadable(text: str) -> None:
    sample = samples.ALL["broken_no_gpu"]
    findings = tuple(msgspec.structs.replace(finding, message=text, title=text) for finding in sample.diagnosis.findings)
    report = build_report(
        msgspec.structs.replace(sample, diagnosis=msgspec.structs.replace(sample.diagnosis, findings=findings, unproven=(text,)))
    )
    assert suite(report).attrib["tests"] == str(len(cases(report)))
