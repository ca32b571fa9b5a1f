"""The report as JUnit XML, for CI systems: one suite, a test case for each rule and subject.

Each root cause that counts for the exit code is one failure. What follows from it, and what was not checked, is skipped with its reason; a rule
that crashed is an error. The verdict is a property of the suite, and a test case of its own unless a failure or an error says why it is red.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring  # nosec B405 # written, never parsed

from gpudoctor.findings import Severity
from gpudoctor.report import oneline
from gpudoctor.report.fixes import fix_steps
from gpudoctor.report.groups import GroupedFinding
from gpudoctor.report.model import CouldNotTell, Finding, Report, Subject
from gpudoctor.report.words import printable_text

_COUNTED_TAGS = ("failures", "errors", "skipped")


def render(report: Report) -> bytes:
    """`report` as one XML document in UTF-8."""
    suite = Element("testsuite", name=f"gpudoctor {report.command}")
    suite.set("timestamp", report.created.removesuffix("Z"))
    suite.set("hostname", _hostname(report))
    suite.set("time", f"{sum(timing.seconds for timing in report.timings):.3f}")
    _add_properties(suite, report)
    _add_findings(suite, report)
    for passed in report.passed:
        _add_test_case(suite, passed.code, passed.name, passed.subject)
    for untold in report.could_not_tell:
        if not any(finding.code == untold.code and finding.subject == untold.subject for finding in report.findings):
            _add_not_checked(suite, untold)
    for skipped in report.skipped:
        case = _add_test_case(suite, skipped.code, skipped.name, Subject("rule", ""))
        _add_result(case, "skipped", skipped.reason or "left out with --skip")
    if not report.exit_code or not any(suite.find(f".//{tag}") is not None for tag in ("failure", "error")):
        _add_verdict(suite, report)
    for name, tag in (("tests", "testcase"), *zip(_COUNTED_TAGS, ("failure", "error", "skipped"), strict=True)):
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    _escape_attributes(suite)
    whole = Element("testsuites")
    whole.append(suite)
    indent(whole)
    return bytes(tostring(whole, encoding="utf-8", xml_declaration=True)) + b"\n"


def _hostname(report: Report) -> str:
    """Only with --identify; the form has a place for it that must not be empty."""
    host = getattr(report.snapshot.host, "hostname", "")
    return host if isinstance(host, str) and host else "localhost"


def _add_properties(suite: Element, report: Report) -> None:
    properties = SubElement(suite, "properties")
    for name, value in (("verdict", report.verdict), ("exit code", str(report.exit_code)), ("gpudoctor", report.tool.version)):
        SubElement(properties, "property", name=name, value=value)


def _add_verdict(suite: Element, report: Report) -> None:
    """Add the case that is red where no other case is and the exit code is not 0."""
    case = SubElement(suite, "testcase", classname="gpudoctor", name="verdict", time="0")
    if report.exit_code:
        _add_result(case, "failure", oneline.render(report), kind=report.verdict, more=(report.because, report.proved_to.text))
    else:
        _add_result(case, "system-out", "", more=(oneline.render(report),))


def _add_findings(suite: Element, report: Report) -> None:
    cases: dict[tuple[str, Subject], list[Finding]] = {}
    for finding in report.findings:
        cases.setdefault((finding.code, finding.subject), []).append(finding)
    for (code, subject), findings in cases.items():
        _add_case(_add_test_case(suite, code, findings[0].name, subject), findings, Severity(report.policy.fail_on))


def _add_case(case: Element, findings: list[Finding], fail_on: Severity) -> None:
    """Say in a test case what was found: a failure if a root cause counts, skipped if all that counts follows from another finding."""
    counting = [finding for finding in findings if Severity(finding.severity) >= fail_on]
    roots = [finding for finding in counting if not finding.because_of]
    details = [line for finding in findings for line in _finding_lines(finding)]
    if roots:
        _add_result(case, "failure", roots[0].message, kind=roots[0].severity, more=details)
    elif counting:
        _add_result(case, "skipped", f"explained by {', '.join(counting[0].because_of)}: {counting[0].message}", more=details)
    else:
        _add_result(case, "system-out", "", more=details)


def _finding_lines(finding: Finding) -> Iterable[str]:
    yield f"{finding.severity}: {finding.message}"
    for seen in finding.evidence:
        yield f"Evidence: {seen.what} = {seen.value}" + (f" [{seen.where}]" if seen.where else "")
    for step in fix_steps(GroupedFinding((finding,))):
        yield step.line
        if step.verify:
            yield f"Verify: {step.verify}"
    yield f"Action: {finding.action} ({finding.domain})"
    if finding.because_of:
        yield f"Explained by: {', '.join(finding.because_of)}"
    yield finding.url


def _add_not_checked(suite: Element, untold: CouldNotTell) -> None:
    case = _add_test_case(suite, untold.code, untold.name, untold.subject)
    if untold.kind == "crashed":
        _add_result(case, "error", untold.reason, kind="crashed")
    else:
        why = f" (because of {', '.join(untold.because_of)})" if untold.because_of else ""
        _add_result(case, "skipped", f"not checked: {untold.reason}{why}")


def _add_test_case(suite: Element, code: str, name: str, subject: Subject) -> Element:
    about = f" [{subject.key}]" if subject.key else ""
    return SubElement(suite, "testcase", classname=f"gpudoctor.{subject.kind}", name=f"{code} {name}{about}", time="0")


def _add_result(case: Element, tag: str, message: str, *, kind: str = "", more: Iterable[str] = ()) -> None:
    said = SubElement(case, tag)
    if message:
        said.set("message", message)
    if kind:
        said.set("type", kind)
    said.text = "\n".join(printable_text(line, plain=False) for line in more if line) or None


def _escape_attributes(suite: Element) -> None:
    """Escape in all attributes what XML cannot hold, even escaped in its own way, and what would steer a terminal."""
    for element in suite.iter():
        element.attrib.update({name: printable_text(value, plain=False) for name, value in element.attrib.items()})
