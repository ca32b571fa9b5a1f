"""The report as SARIF 2.1.0, for code scanning and other viewers of findings.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html. What GitHub requires and shows of it:
https://docs.github.com/en/code-security/reference/code-scanning/sarif-files/sarif-support-for-code-scanning
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from gpudoctor import rule_pages
from gpudoctor.diagnose.rule import Rule
from gpudoctor.diagnose.rules import RULES
from gpudoctor.exit_codes import CRASHED, USAGE
from gpudoctor.findings import FixKind, Severity
from gpudoctor.report.build import digest, rule_url
from gpudoctor.report.document import encode_document
from gpudoctor.report.fixes import fix_steps
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.model import Finding, Report
from gpudoctor.report.words import printable_text

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MAX_DESCRIPTION = 1024
"""Characters of a description that GitHub takes."""
_PROJECT_URL = "https://github.com/gpudoctor/gpudoctor"
_PROBLEM_SEVERITIES = {Severity.ERROR.value: "error", Severity.WARNING.value: "warning", Severity.NOTE.value: "recommendation"}
"""GitHub's severities for findings other than security problems."""


def render(report: Report) -> bytes:
    """Return `report` as one SARIF document with one run."""
    codes = dict.fromkeys(finding.code for finding in report.findings)
    rules = [rule for rule in RULES if rule.code in codes]
    places = {rule.code: place for place, rule in enumerate(rules)}
    run = {
        "tool": {"driver": _sarif_driver(report, rules)},
        "invocations": [_sarif_invocation(report)],
        "automationDetails": {"id": f"gpudoctor {report.command}/{report.id}"},
        "results": [_sarif_result(finding, places) for finding in report.findings],
        "properties": {"verdict": report.verdict, "because": report.because, "provedTo": report.proved_to.text},
    }
    return encode_document({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [_printable_document(run)]})


def _printable_document(value: Any) -> Any:
    """Return a document whose texts cannot steer the terminal of a viewer that decodes them."""
    if isinstance(value, str):
        return "\n".join(printable_text(line, plain=False) for line in value.split("\n"))
    if isinstance(value, dict):
        return {name: _printable_document(one) for name, one in value.items()}
    return [_printable_document(one) for one in value] if isinstance(value, list) else value


def _sarif_driver(report: Report, rules: list[Rule]) -> dict[str, Any]:
    return {
        "name": report.tool.name,
        "semanticVersion": report.tool.version,
        "informationUri": _PROJECT_URL,
        "rules": [_sarif_rule(rule) for rule in rules],
    }


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    page = rule_pages.read_rule_page(rule)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": _rule_rationale(page) or rule.title},
        "help": {"text": page, "markdown": page},
        "helpUri": rule_url(rule.name),
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "tags": list(dict.fromkeys((rule.family.replace("_", "-"), rule.lies_in.value))),
            "problem.severity": _PROBLEM_SEVERITIES[rule.severity.value],
        },
    }


def _rule_rationale(page: str) -> str:
    """Return the first paragraph of a page that says why, on one line and no longer than GitHub takes."""
    paragraph = page.partition("\n## Why\n\n")[2].partition("\n\n")[0]
    return " ".join(paragraph.split())[:_MAX_DESCRIPTION]


def _sarif_invocation(report: Report) -> dict[str, Any]:
    """Return how the check ended, with what it could not check and which rules were skipped."""
    return {
        "executionSuccessful": report.exit_code not in {USAGE, CRASHED} and report.exit_code < 128,
        "exitCode": report.exit_code,
        "commandLine": shlex.join(report.argv),
        "arguments": list(report.argv[1:]),
        "endTimeUtc": report.created,
        "toolExecutionNotifications": list(_sarif_notifications(report)),
        "toolConfigurationNotifications": [
            _sarif_notification("note", f"{rule.code} {rule.name} was skipped: {rule.reason or 'no reason given'}")
            for rule in report.skipped
        ],
    }


def _sarif_notifications(report: Report) -> Iterator[dict[str, Any]]:
    if report.because:
        yield _sarif_notification("warning", report.because)
    for gap in report.could_not_tell:
        crashed = gap.kind == "crashed"
        yield _sarif_notification(
            "error" if crashed else "note", f"{gap.code} {gap.name} {'crashed' if crashed else 'was not checked'}: {gap.reason}"
        )
    for other in report.not_judged:
        yield _sarif_notification("warning", f"{other.what} was not checked: {other.reason}")


def _sarif_notification(level: str, text: str) -> dict[str, Any]:
    return {"level": level, "message": _sarif_message(text)}


def _sarif_result(finding: Finding, places: dict[str, int]) -> dict[str, Any]:
    """Return one finding. What another one explains is for information: a viewer counts root causes."""
    level = {"kind": "informational", "level": "none"} if finding.because_of else {"kind": "fail", "level": finding.severity}
    return {
        "ruleId": finding.code,
        **({"ruleIndex": places[finding.code]} if finding.code in places else {}),
        **level,
        "message": _sarif_message("\n".join(_message_lines(finding))),
        "locations": [_sarif_location(finding)],
        "fingerprints": {"finding/v1": finding.id},
        "partialFingerprints": {"primaryLocationLineHash": f"{digest(finding.id.encode())}:1"},
        "hostedViewerUri": finding.url,
        "properties": {
            "action": finding.action,
            "domain": finding.domain,
            "confidence": finding.confidence,
            "stage": finding.breaks,
            "becauseOf": list(finding.because_of),
            "evidence": [{"what": seen.what, "value": seen.value, "where": seen.where} for seen in finding.evidence],
        },
    }


def _sarif_message(text: str) -> dict[str, str]:
    """Return a message without placeholders, in which a brace is written twice (section 3.11.5)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _message_lines(finding: Finding) -> Iterator[str]:
    yield finding.message
    yield from (step.line for step in fix_steps(GroupedFinding((finding,))) if step.kind == FixKind.FIX)


def _sarif_location(finding: Finding) -> dict[str, Any]:
    """Return what the finding is about, also as a file, since GitHub shows no result without one."""
    about = "/".join(filter(None, (finding.subject.kind, finding.subject.key)))
    first = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(about)}, "region": first},
        "logicalLocations": [{"fullyQualifiedName": about, "kind": "resource"}],
    }
