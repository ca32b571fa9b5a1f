"""The findings of every recorded machine, word for word, in one file: a change of wording is one diff."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from gpudoctor.findings import Finding, Fix

FILE: Final = Path(__file__).parent / "findings.txt"
_HEADING: Final = "== "


def text(findings: tuple[Finding, ...]) -> str:
    """Return all parts of the findings, one line each."""
    return "\n\n".join("\n  ".join(_lines(finding)) for finding in findings)


@cache
def kept() -> dict[str, str]:
    """Return each machine's text in the file."""
    parts = FILE.read_text(encoding="utf-8").split("\n" + _HEADING)[1:]
    return {name: told.strip("\n") for name, _, told in (part.partition("\n") for part in parts)}


def keep(texts: dict[str, str]) -> None:
    """Write the file; machines that are not in `texts` keep their text."""
    told = {**(kept() if FILE.exists() else {}), **texts}
    parts = [f"\n{_HEADING}{name}\n{told[name]}\n" for name in sorted(told)]
    FILE.write_text("Written by scripts/record_machines --again; see golden.py.\n" + "".join(parts), encoding="utf-8")
    kept.cache_clear()


def _lines(finding: Finding) -> Iterator[str]:
    subject = f"{finding.subject.kind.value} {finding.subject.key}".strip()
    yield f"{finding.id} {finding.name} ({finding.severity.value}, {finding.confidence.value}, {finding.impact.value}) of {subject}"
    yield f"title: {finding.title}"
    yield f"message: {finding.message}"
    yield f"breaks: {finding.breaks.value}"
    yield f"action: {finding.action.value}"
    yield f"domain: {finding.domain.value}"
    if finding.because_of:
        yield f"because of: {', '.join(finding.because_of)}"
    for one in finding.evidence:
        yield f"evidence: {one.what} | {one.value} | {one.where}"
    for fix in finding.fixes:
        yield from _lines_of_fix(fix)


def _lines_of_fix(fix: Fix) -> Iterator[str]:
    yield f"{fix.kind.value}: {fix.title}" + (f" [{', '.join(fix.needs)}]" if fix.needs else "")
    if fix.command:
        yield f"  command: {fix.command}"
    if fix.verify:
        yield f"  verify: {fix.verify}"
