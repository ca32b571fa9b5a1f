"""The findings of a report with nothing drawn around them: written where the drawing of a report crashes."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.report.model import Report


def render(report: Report, crash: Exception) -> str:
    """Return the verdict, each finding with its fixes and the crash, as indented ASCII lines: no terminal obeys them, and Markdown shows them as they are."""
    return "".join(f"    {_ascii_line(line)}\n" for line in _fallback_lines(report, crash))


def _fallback_lines(report: Report, crash: Exception) -> Iterator[str]:
    yield f"{report.verdict.upper()} {report.because}"
    for finding in report.findings:
        yield f"{finding.severity} {finding.code} {finding.subject.key} {finding.message}"
        for fix in finding.fixes:
            yield f"  {fix.kind}: {fix.title}: {fix.command}"
    yield f"gpudoctor crashed in the rest of this report: {type(crash).__name__}: {crash}"


def _ascii_line(text: str) -> str:
    return "".join(one if " " <= one <= "~" else " " for one in text)
