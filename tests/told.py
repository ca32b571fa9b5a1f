"""What is found in many cases, word for word in one file for each kind of case. scripts/record_rules writes them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from gpudoctor.findings import Diagnosis, Finding

_HERE: Final = Path(__file__).parent
OF_TEXTS: Final = _HERE / "read" / "causes" / "told.txt"
OF_QUESTIONS: Final = _HERE / "plan" / "told.txt"
_HEADING: Final = "== "
_FIX: Final = "  > "
_FIXES: Final = "  fixes "


def text(diagnosis: Diagnosis) -> str:
    """Return the findings with their evidence and fixes, and what was not judged, one line each."""
    unchecked = (f"not judged: {one.what}: {one.reason}" for one in diagnosis.unchecked)
    return "\n".join([*(line for finding in diagnosis.findings for line in _lines(finding)), *unchecked])


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.id} {finding.name} ({finding.severity.value}, {finding.confidence.value}): {finding.message}"
    if finding.because_of:
        yield f"  because of {', '.join(finding.because_of)}"
    yield from (f"  {evidence.what} | {evidence.value} | {evidence.where}" for evidence in finding.evidence)
    yield from (f"{_FIX}{fix.kind.value}: {fix.title}" + f" | {fix.command}" * bool(fix.command) for fix in finding.fixes)


@cache
def kept(file: Path) -> dict[str, str]:
    """Return what was said in each case."""
    split = (part.partition("\n") for part in f"\n{file.read_text(encoding='utf-8')}".split("\n" + _HEADING)[1:])
    parts = {name: said.strip("\n") for name, _, said in split}
    return {name: "\n".join(_expanded(said.splitlines(), parts)) for name, said in parts.items() if not name.startswith(_FIXES.strip())}


def keep(file: Path, texts: dict[str, str]) -> None:
    """Write a file; fixes of several cases stand in it once."""
    fixes: dict[str, str] = {}
    told = {name: "\n".join(_shortened(said.splitlines(), fixes)) for name, said in texts.items()}
    parts = {**told, **{heading.strip(): fixes[heading] for heading in sorted(fixes)}}
    file.write_text("\n".join(f"{_HEADING}{name}\n{said}\n" for name, said in parts.items()), encoding="utf-8")
    kept.cache_clear()


def mark(text: str) -> str:
    """Return a short name of a text, which stays when others are added."""
    return f"{zlib.crc32(text.encode()):08x}"


def _shortened(lines: Iterable[str], fixes: dict[str, str]) -> Iterator[str]:
    for is_fix, group in groupby(lines, lambda line: line.startswith(_FIX)):
        if is_fix:
            listed = "\n".join(group)
            fixes[heading := f"{_FIXES}{mark(listed)}"] = listed
            yield heading
        else:
            yield from group


def _expanded(lines: Iterable[str], parts: dict[str, str]) -> Iterator[str]:
    for line in lines:
        yield from parts[line.strip()].splitlines() if line.startswith(_FIXES) else (line,)
