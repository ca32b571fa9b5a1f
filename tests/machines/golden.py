"""The findings of every recorded machine, and what was verified and not checked, word for word in one file: a change of wording is one diff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from gpudoctor.findings import Diagnosis, Finding, Fix, LadderRow, OutcomeKind, RungState

FILE: Final = Path(__file__).parent / "findings.txt"
_HEADING: Final = "== "
_EXPLAINED: Final = {RungState.FAILED, RungState.NOT_SHOWN}
Key = TypeVar("Key")


def text(diagnosis: Diagnosis) -> str:
    """Return all parts of the findings, what was verified, the stages of the GPUs and what was not checked, one line each."""
    return "\n\n".join([*map(finding_text, diagnosis.findings), "\n".join(_beside_findings(diagnosis))])


def finding_text(finding: Finding) -> str:
    """Return all parts of a finding, one line each."""
    return "\n  ".join(_lines(finding))


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


def _beside_findings(diagnosis: Diagnosis) -> Iterator[str]:
    proven = diagnosis.proved_to
    yield f"verified: {proven.text} [{proven.gpus} of {proven.of}, {proven.rung.value if proven.rung else 'no stage'}]"
    if diagnosis.because:
        yield f"because: {diagnosis.because}"
    yield from (f"not judged: {one.what}: {one.reason}" for one in diagnosis.unchecked)
    for stages, rows in _grouped((_stages(row), row.subject.key) for row in diagnosis.ladder):
        yield f"stages of {' '.join(rows)}: {stages}"
    unchecked = [outcome for outcome in diagnosis.outcomes if outcome.kind is OutcomeKind.COULD_NOT_TELL]
    for (reason, key), codes in _grouped(((outcome.reason, outcome.subject.key), outcome.code) for outcome in unchecked):
        yield f"not checked: {' '.join(codes)} {key}: {reason}"


def _stages(row: LadderRow) -> str:
    told = (f"{step.rung.value} {step.state.value}" + f" ({step.detail})" * (step.state in _EXPLAINED) for step in row.steps)
    return ", ".join(told)


def _grouped(pairs: Iterable[tuple[Key, str]]) -> list[tuple[Key, list[str]]]:
    groups: dict[Key, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return list(groups.items())


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
    for evidence in finding.evidence:
        yield f"evidence: {evidence.what} | {evidence.value} | {evidence.where}"
    for fix in finding.fixes:
        yield from _lines_of_fix(fix)


def _lines_of_fix(fix: Fix) -> Iterator[str]:
    yield f"{fix.kind.value}: {fix.title}" + (f" [{', '.join(fix.needs)}]" if fix.needs else "")
    if fix.command:
        yield f"  command: {fix.command}"
    if fix.verify:
        yield f"  verify: {fix.verify}"
