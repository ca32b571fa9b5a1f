"""The ladder on a page: which rung each GPU reached, alike GPUs in one row, and where each of the others was lost."""

# ruff: noqa: RUF001, RUF002 -- a dash joins neighbours, a cross counts
from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.findings import RungState
from gpudoctor.report.model import LadderRow, Report, Step, Subject
from gpudoctor.report.page import Page
from gpudoctor.report.words import RUNGS, STATES, ranges

_PROVEN, _IDLE = RungState.PROVEN.value, {RungState.NOT_ASKED.value, RungState.NOT_APPLICABLE.value}
_GAP = 2


def gpu_label(rows: Iterable[LadderRow]) -> str:
    """Several GPUs in few words: GPU 0–3, GPU 0000:3b:00.0."""
    rows = list(rows)
    numbered = ranges(row.index for row in rows if row.index is not None)
    unnumbered = [row.subject.key for row in rows if row.index is None]
    return "GPU " + ", ".join([numbered] * bool(numbered) + unnumbered)


def subjects(report: Report, about: Iterable[Subject]) -> str:
    """Subjects in few words, GPUs by number where the ladder knows it; the machine is not worth a word."""
    known = {row.subject.key: row for row in report.ladder}
    about = list(about)
    gpus = [known.get(subject.key, LadderRow(subject, _index(subject.key), "", ())) for subject in about if subject.kind == "gpu"]
    frameworks = [subject.key for subject in about if subject.kind == "framework"]
    return ", ".join([gpu_label(gpus)] * bool(gpus) + frameworks)


def _index(key: str) -> int | None:
    """The index in the key of a GPU that has no address."""
    number = key.removeprefix("nvml:")
    return int(number) if number != key and number.isdigit() else None


def _trouble(row: LadderRow) -> Step | None:
    """The lowest rung that was tried and is not proven."""
    return next((step for step in row.steps if step.state != _PROVEN and step.state not in _IDLE), None)


def _reached(row: LadderRow) -> str:
    return next((step.rung for step in reversed(row.steps) if step.state == _PROVEN), "")


def _sentence(row: LadderRow) -> str:
    reached = _reached(row)
    start = f"reached {reached}" if reached else "reached nothing"
    trouble = _trouble(row)
    if trouble is None:
        return start
    mark = STATES.get(trouble.state)
    why = f" ({trouble.detail})" if trouble.detail else ""
    return f"{start}; {trouble.rung} {mark.word if mark else trouble.state}{why}"


def _groups(rows: tuple[LadderRow, ...]) -> list[list[LadderRow]]:
    groups: dict[tuple[object, ...], list[LadderRow]] = {}
    for row in rows:
        trouble = _trouble(row)
        alike = (row.index is None, *(step.state for step in row.steps), trouble.detail if trouble else "")
        groups.setdefault(alike, []).append(row)
    return list(groups.values())


def _models(rows: tuple[LadderRow, ...]) -> str:
    names = [row.model for row in rows if row.model]
    return ", ".join(f"{names.count(model)} × {model}" for model in dict.fromkeys(names))


def draw(page: Page, report: Report) -> None:
    """The section of the ladder; nothing where no GPU is known."""
    if not report.ladder:
        return
    models = _models(report.ladder)
    page.heading("How far each GPU got" + (f": {models}" if models else ""))
    groups = _groups(report.ladder)
    labels = [gpu_label(group) for group in groups]
    rungs = [step.rung for step in report.ladder[0].steps]
    widths = [len(RUNGS.get(rung, rung)) + _GAP for rung in rungs]
    first = max(len(page.text(label)) for label in labels) + _GAP
    wide = 2 + first + sum(widths) - _GAP <= page.look.width
    if wide:
        _table(page, list(zip(labels, groups, strict=True)), list(zip(rungs, widths, strict=True)), first)
    for label, group in zip(labels, groups, strict=True):
        if not wide or _trouble(group[0]):
            page.paragraph(_sentence(group[0]), f"{label} ", indent=2, hang=2, lead_style="bold")


def _table(page: Page, groups: list[tuple[str, list[LadderRow]]], columns: list[tuple[str, int]], first: int) -> None:
    page.cells([("", 2 + first, ""), *((RUNGS.get(rung, rung), width, "dim") for rung, width in columns)])
    for label, group in groups:
        cells = [("", 2, ""), (label, first, "")]
        for step, (_, width) in zip(group[0].steps, columns, strict=True):
            mark = STATES.get(step.state)
            sign = step.state if mark is None else (mark.ascii if page.look.plain else mark.sign)
            cells.append((sign, width, mark.style if mark else ""))
        page.cells(cells)
    used = {step.state for _, group in groups for step in group[0].steps}
    legend = [
        f"{mark.ascii if page.look.plain else mark.sign} {mark.word}"
        for state, mark in STATES.items()
        if state in used and not mark.word.startswith(mark.sign)
    ]
    page.paragraph("   ".join(legend), indent=2 + first, style="dim")
