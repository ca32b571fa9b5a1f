"""The tables that scripts/torture prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scripts.torture_parts.cell import Case, Result

VERDICTS = ("ready", "degraded", "unknown", "broken")


def table(part: str, cells: Sequence[tuple[Case, Result]]) -> str:
    """Return a part's results by kind of fault, and each cell that does not hold."""
    heads = ("cells", *VERDICTS, "do not hold")
    lines = [f"| {part} | {' | '.join(heads)} |", "| --- |" + " --: |" * len(heads)]
    for kind in dict.fromkeys(_kind(case) for case, _ in cells):
        mine = [result for case, result in cells if _kind(case) == kind]
        verdicts = Counter(result.verdict for result in mine)
        counts = [len(mine), *(verdicts[verdict] for verdict in VERDICTS), sum(bool(result.trouble) for result in mine)]
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} |")
    lines += [f"- {case.subject}, {case.fault}: {result.trouble}" for case, result in cells if result.trouble]
    lines += [
        f"- {case.subject}, {case.fault}: tried again, as the machine had become slower: {'; '.join(result.void)}"
        for case, result in cells
        if result.void
    ]
    held = sum(not result.trouble for _, result in cells)
    wrongly = sum("ready, although" in result.trouble for _, result in cells)
    slowest = max((result.seconds for _, result in cells), default=0.0)
    return "\n".join([*lines, "", f"{held} of {len(cells)} cells hold, {wrongly} wrongly ready; the slowest took {slowest:.1f} s."])


def _kind(case: Case) -> str:
    return case.kind or case.fault.split()[0]
