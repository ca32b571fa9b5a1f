"""The stages that each GPU passed, as a table: equal GPUs in one row, and what stopped each of the others."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.findings import RungState
from gpudoctor.report.gpus import gpu_label
from gpudoctor.report.model import LadderRow, Report, Step
from gpudoctor.report.page import Page
from gpudoctor.report.words import STAGES, STATES, Mark

_PROVEN, _IDLE = RungState.PROVEN.value, {RungState.NOT_ASKED.value, RungState.NOT_APPLICABLE.value}
_UNTRIED = {RungState.NOT_SHOWN.value, *_IDLE}
_GAP = 2
_LABEL = 24
"""The longest label of several GPUs in one row: more addresses than one need a row each."""


class StageRow(msgspec.Struct, frozen=True):
    """GPUs of one model that passed the same stages."""

    gpus: str
    model: str
    marks: tuple[Mark, ...]
    told: str
    """What stopped the first of them; empty if nothing did."""


class StageTable(msgspec.Struct, frozen=True):
    """The stages as columns, a row for equal GPUs, and what the marks mean."""

    stages: tuple[str, ...]
    rows: tuple[StageRow, ...]
    legend: tuple[Mark, ...]


def table(report: Report) -> StageTable | None:
    """Return the stages of the report's GPUs; None if none was tried."""
    if not _was_tried(report):
        return None
    rows = tuple(_row(group) for group in _groups(report.ladder, by_model=True))
    return StageTable(tuple(STAGES.get(step.rung, step.rung) for step in report.ladder[0].steps), rows, _legend(report.ladder))


def _row(group: list[LadderRow]) -> StageRow:
    first = group[0]
    return StageRow(gpu_label(group), first.model, tuple(_mark(step) for step in first.steps), _sentence(first) if _trouble(first) else "")


def _was_tried(report: Report) -> bool:
    return any(step.state not in _UNTRIED for row in report.ladder for step in row.steps)


def _mark(step: Step) -> Mark:
    return STATES.get(step.state) or Mark(step.state, step.state, "", step.state)


def _legend(rows: Iterable[LadderRow]) -> tuple[Mark, ...]:
    used = {step.state for row in rows for step in row.steps}
    return tuple(mark for state, mark in STATES.items() if state in used)


def draw(page: Page, report: Report) -> None:
    """Add the section; nothing if no stage of a GPU was tried."""
    if not _was_tried(report):
        return
    page.heading("Stages per GPU")
    groups = _groups(report.ladder)
    rows = [row for group in groups for row in _fitting(group)]
    labels = [gpu_label(row) for row in rows]
    rungs = [step.rung for step in report.ladder[0].steps]
    widths = [
        max(len(STAGES.get(rung, rung)), *(len(page.sign(_mark(row.steps[place]))) for row in report.ladder)) + _GAP
        for place, rung in enumerate(rungs)
    ]
    first = max(len(page.text(label)) for label in labels) + _GAP
    wide = 2 + first + sum(widths) - _GAP <= page.look.width
    if wide:
        _table(page, list(zip(labels, rows, strict=True)), list(zip(rungs, widths, strict=True)), first)
    for group in groups:
        if not wide or _trouble(group[0]):
            page.paragraph(_sentence(group[0]), f"{gpu_label(group)}: ", indent=2, hang=2, lead_style="bold")


def _fitting(group: list[LadderRow]) -> list[list[LadderRow]]:
    """Return equal GPUs as one row of the table, or each in its own where the label of all would be too long."""
    return [group] if len(gpu_label(group)) <= _LABEL else [[row] for row in group]


def _groups(rows: tuple[LadderRow, ...], *, by_model: bool = False) -> list[list[LadderRow]]:
    groups: dict[tuple[object, ...], list[LadderRow]] = {}
    for row in rows:
        trouble = _trouble(row)
        alike = (row.model if by_model else "", row.index is None, *(step.state for step in row.steps), trouble.detail if trouble else "")
        groups.setdefault(alike, []).append(row)
    return list(groups.values())


def _trouble(row: LadderRow) -> Step | None:
    """Return the first stage that was tried and not passed."""
    return next((step for step in row.steps if step.state != _PROVEN and step.state not in _IDLE), None)


def _sentence(row: LadderRow) -> str:
    """Return where a GPU was stopped, and by what; else how far it came."""
    trouble = _trouble(row)
    if trouble is None:
        last = next((step.rung for step in reversed(row.steps) if step.state == _PROVEN), "")
        return f"passed {STAGES.get(last, last)}" if last else "nothing was tried"
    if trouble.state == RungState.MASKED:
        return trouble.detail or "hidden from CUDA programs"
    why = f": {trouble.detail}" if trouble.detail else ""
    return f"{STAGES.get(trouble.rung, trouble.rung)} {_mark(trouble).word}{why}"


def _table(page: Page, groups: list[tuple[str, list[LadderRow]]], columns: list[tuple[str, int]], first: int) -> None:
    page.cells([("", 2 + first, ""), *((STAGES.get(rung, rung), width, "dim") for rung, width in columns)])
    for label, group in groups:
        cells = [("", 2, ""), (label, first, "")]
        for step, (_, width) in zip(group[0].steps, columns, strict=True):
            cells.append((page.sign(_mark(step)), width, _mark(step).style))
        page.cells(cells)
    legend = [f"{page.sign(mark)} {mark.word}" for mark in _legend(group[0] for _, group in groups)]
    page.paragraph("   ".join(legend), indent=2 + first, style="dim")
