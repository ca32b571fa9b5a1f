"""A diff for a person, as text or as Markdown: causes, facts that rules read, the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from gpudoctor.findings.naming import counted, joined, ranges
from gpudoctor.report import markup
from gpudoctor.report.diff import CauseChange, Diff, FactChange
from gpudoctor.report.page import Look, Page

_MANY = 12
"""Facts that no rule reads and that are still listed one by one without -v."""
_GPU = re.compile(r"GPU (\d+)\b")
Section = tuple[str, list[str]]


def render(diff: Diff, look: Look) -> str:
    """Return the diff for a terminal."""
    page = Page(look)
    page.paragraph(_opening(diff), style="bold")
    for title, told in _sections(diff, verbose=look.verbose):
        page.heading(title)
        for line in told:
            page.paragraph(line, indent=2, hang=2)
    for note in _notes(diff, verbose=look.verbose):
        page.gap()
        page.paragraph(note)
    return page.render()


def markdown(diff: Diff, *, verbose: bool) -> str:
    """Return the diff as Markdown."""
    out = [f"**{markup.text(_opening(diff))}**"]
    for title, told in _sections(diff, verbose=verbose):
        out += ["", f"### {title}", "", *(f"- {markup.text(line)}" for line in told)]
    for note in _notes(diff, verbose=verbose):
        out += ["", markup.text(note)]
    return "\n".join(out) + "\n"


def _opening(diff: Diff) -> str:
    before, after = diff.before, diff.after
    changed = bool(diff.causes or diff.counted or diff.unknown)
    if not changed:
        return f"No differences between {before.name} and {after.name}."
    verdict = before.verdict if before.verdict == after.verdict else f"{before.verdict} → {after.verdict}"
    return f"{before.name} → {after.name}: {verdict}"


def _sections(diff: Diff, *, verbose: bool) -> list[Section]:
    """Return the headings and their lines, without empty ones."""
    read = [change for change in diff.counted if change.read_by_rules]
    rest = [change for change in diff.counted if not change.read_by_rules]
    short = len(rest) > _MANY and not verbose
    sections = [
        ("Causes", [_cause(cause) for cause in diff.causes if cause.root or verbose]),
        ("Facts that rules read", _told(read, verbose=verbose)),
        ("Other facts", _by_section(rest) if short else _told(rest, verbose=verbose)),
        ("Not known any more", _told(diff.unknown, verbose=verbose)),
    ]
    if verbose:
        sections.append(("Values that change by themselves", _told([fact for fact in diff.facts if fact.volatile], verbose=True)))
        sections.append(("Not compared", _told([fact for fact in diff.facts if _left_out(fact)], verbose=True)))
    return [(title, told) for title, told in sections if told]


def _left_out(change: FactChange) -> bool:
    return change.not_compared and not change.volatile and not change.unknown


def _cause(change: CauseChange) -> str:
    words = {"appeared": f"appeared, {change.after}", "gone": f"gone, {change.before}", "changed": f"changed, {change.after}"}
    if change.kind == "changed" and change.before != change.after:
        words["changed"] = f"changed, {change.before} → {change.after}"
    return f"{words.get(change.kind, change.kind)}: {change.name}: {change.message}"


def _told(facts: Iterable[FactChange], *, verbose: bool) -> list[str]:
    """Return one line for each change, and one for the same change of several GPUs; with -v also the fields, for --ignore."""
    if verbose:
        return [f"{fact.line}  [{', '.join((fact.path, *fact.also))}]" for fact in facts]
    groups: dict[tuple[str, str], list[FactChange]] = {}
    for fact in facts:
        numbered = _GPU.match(fact.subject)
        groups.setdefault((numbered.re.pattern if numbered else fact.path, fact.line.removeprefix(fact.subject)), []).append(fact)
    return [_of_gpus(group) for group in groups.values()]


def _of_gpus(group: Sequence[FactChange]) -> str:
    first = group[0]
    if len(group) == 1:
        return first.line
    numbers = {int(found[1]) for change in group if (found := _GPU.match(change.subject))}
    return f"GPUs {ranges(numbers)}{first.line.removeprefix(first.subject)}"


def _by_section(facts: Iterable[FactChange]) -> list[str]:
    counts = Counter(fact.path.partition(".")[0].replace("_", " ") for fact in facts)
    return [f"{name}: {counted(number, 'change')} (-v lists them)" for name, number in counts.items()]


def _notes(diff: Diff, *, verbose: bool) -> list[str]:
    """Return what was left out."""
    if verbose:
        return []
    silent, moving = (sum(map(chosen, diff.facts)) for chosen in (_left_out, lambda one: one.volatile))
    left_out = [
        *([f"{counted(silent, 'fact')} that only one of the two reports has"] if silent else []),
        *(
            [f"{counted(moving, 'value')} that changed by {'itself' if moving == 1 else 'themselves'}, such as temperature and free memory"]
            if moving
            else []
        ),
    ]
    told = [f"Left out: {joined(left_out)}; -v lists them."] if left_out else []
    return told + ([f"Ignored: {counted(diff.ignored, 'fact')}."] if diff.ignored else [])
