"""A diff for a person, as text or as Markdown: causes, facts that rules read, the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from gpudoctor.findings.wording import count_with_noun, joined_words, number_ranges
from gpudoctor.report import markup
from gpudoctor.report.diff import CauseChange, Diff, FactChange
from gpudoctor.report.page import Page, PageLook

_MAX_CHANGES = 12
"""Facts that no rule reads and that are still listed one by one without -v."""
_GPU_NAME = re.compile(r"GPU (\d+)\b")
DiffSection = tuple[str, list[str]]


def render(diff: Diff, look: PageLook) -> str:
    """Return the diff for a terminal."""
    page = Page(look)
    page.paragraph(_opening_sentence(diff), style="bold")
    for title, told in _diff_sections(diff, verbose=look.verbose):
        page.heading(title)
        for line in told:
            page.paragraph(line, indent=2, hang=2)
    for note in _omission_notes(diff, verbose=look.verbose):
        page.gap()
        page.paragraph(note)
    return page.render()


def diff_as_markdown(diff: Diff, *, verbose: bool) -> str:
    """Return the diff as Markdown."""
    out = [f"**{markup.markup_text(_opening_sentence(diff))}**"]
    for title, told in _diff_sections(diff, verbose=verbose):
        out += ["", f"### {title}", "", *(f"- {markup.markup_text(line)}" for line in told)]
    for note in _omission_notes(diff, verbose=verbose):
        out += ["", markup.markup_text(note)]
    return "\n".join(out) + "\n"


def _opening_sentence(diff: Diff) -> str:
    before, after = diff.before, diff.after
    changed = bool(diff.causes or diff.counted or diff.unknown)
    if not changed:
        return f"No differences between {before.name} and {after.name}."
    verdict = before.verdict if before.verdict == after.verdict else f"{before.verdict} → {after.verdict}"
    return f"{before.name} → {after.name}: {verdict}"


def _diff_sections(diff: Diff, *, verbose: bool) -> list[DiffSection]:
    """Return the headings and their lines, without empty ones."""
    read = [change for change in diff.counted if change.read_by_rules]
    rest = [change for change in diff.counted if not change.read_by_rules]
    short = len(rest) > _MAX_CHANGES and not verbose
    sections = [
        ("Causes", [_cause_line(cause) for cause in diff.causes if cause.root or verbose]),
        ("Facts that rules read", _change_lines(read, verbose=verbose)),
        ("Other facts", _section_counts(rest) if short else _change_lines(rest, verbose=verbose)),
        ("Not known any more", _change_lines(diff.unknown, verbose=verbose)),
    ]
    if verbose:
        sections.append(("Values that change by themselves", _change_lines([fact for fact in diff.facts if fact.volatile], verbose=True)))
        sections.append(("Not compared", _change_lines([fact for fact in diff.facts if _is_left_out(fact)], verbose=True)))
    return [(title, told) for title, told in sections if told]


def _is_left_out(change: FactChange) -> bool:
    return change.not_compared and not change.volatile and not change.unknown


def _cause_line(change: CauseChange) -> str:
    words = {"appeared": f"appeared, {change.after}", "gone": f"gone, {change.before}", "changed": f"changed, {change.after}"}
    if change.kind == "changed" and change.before != change.after:
        words["changed"] = f"changed, {change.before} → {change.after}"
    return f"{words.get(change.kind, change.kind)}: {change.name}: {change.message}"


def _change_lines(facts: Iterable[FactChange], *, verbose: bool) -> list[str]:
    """Return one line for each change, and one for the same change of several GPUs; with -v also the fields, for --ignore."""
    if verbose:
        return [f"{fact.line}  [{', '.join((fact.path, *fact.also))}]" for fact in facts]
    groups: dict[tuple[str, str], list[FactChange]] = {}
    for fact in facts:
        numbered = _GPU_NAME.match(fact.subject)
        groups.setdefault((numbered.re.pattern if numbered else fact.path, fact.line.removeprefix(fact.subject)), []).append(fact)
    return [_change_of_gpus(group) for group in groups.values()]


def _change_of_gpus(group: Sequence[FactChange]) -> str:
    first = group[0]
    if len(group) == 1:
        return first.line
    numbers = {int(found[1]) for change in group if (found := _GPU_NAME.match(change.subject))}
    return f"GPUs {number_ranges(numbers)}{first.line.removeprefix(first.subject)}"


def _section_counts(facts: Iterable[FactChange]) -> list[str]:
    counts = Counter(fact.path.partition(".")[0].replace("_", " ") for fact in facts)
    return [f"{name}: {count_with_noun(number, 'change')} (-v lists them)" for name, number in counts.items()]


def _omission_notes(diff: Diff, *, verbose: bool) -> list[str]:
    """Return what was left out."""
    if verbose:
        return []
    silent, moving = (sum(map(chosen, diff.facts)) for chosen in (_is_left_out, lambda one: one.volatile))
    left_out = [
        *([f"{count_with_noun(silent, 'fact')} that only one of the two reports has"] if silent else []),
        *(
            [
                f"{count_with_noun(moving, 'value')} that changed by {'itself' if moving == 1 else 'themselves'}, such as temperature and free memory"
            ]
            if moving
            else []
        ),
    ]
    told = [f"Left out: {joined_words(left_out)}; -v lists them."] if left_out else []
    return told + ([f"Ignored: {count_with_noun(diff.ignored, 'fact')}."] if diff.ignored else [])
