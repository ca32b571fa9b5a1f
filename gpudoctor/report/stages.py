"""The stages that each GPU passed, as a table: equal GPUs in one row, and what stopped each of the others."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gpudoctor.findings import RungState
from gpudoctor.report.gpus import gpu_label
from gpudoctor.report.model import LadderRow, Report, Step
from gpudoctor.report.page import Page
from gpudoctor.report.words import STAGE_NAMES, STATE_MARKS, Mark

_PROVEN_STATE, _IDLE_STATES = RungState.PROVEN.value, {RungState.NOT_ASKED.value, RungState.NOT_APPLICABLE.value}
_UNTRIED_STATES = {RungState.NOT_SHOWN.value, *_IDLE_STATES}
_COLUMN_GAP = 2
_MAX_LABEL = 24
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


def stage_table(report: Report) -> StageTable | None:
    """Return the stages of the report's GPUs; None if none was tried."""
    if not _was_tried(report):
        return None
    rows = tuple(_stage_row(group) for group in _equal_gpus(report.ladder, by_model=True))
    return StageTable(tuple(STAGE_NAMES.get(step.rung, step.rung) for step in report.ladder[0].steps), rows, _used_marks(report.ladder))


def _stage_row(group: list[LadderRow]) -> StageRow:
    first = group[0]
    return StageRow(
        gpu_label(group),
        first.model,
        tuple(_mark_of_step(step) for step in first.steps),
        _stop_sentence(first) if _first_failed_step(first) else "",
    )


def _was_tried(report: Report) -> bool:
    return any(step.state not in _UNTRIED_STATES for row in report.ladder for step in row.steps)


def _mark_of_step(step: Step) -> Mark:
    return STATE_MARKS.get(step.state) or Mark(step.state, step.state, "", step.state)


def _used_marks(rows: Iterable[LadderRow]) -> tuple[Mark, ...]:
    used = {step.state for row in rows for step in row.steps}
    return tuple(mark for state, mark in STATE_MARKS.items() if state in used)


def draw(page: Page, report: Report) -> None:
    """Add the section; nothing if no stage of a GPU was tried."""
    if not _was_tried(report):
        return
    page.heading("Stages per GPU")
    groups = _equal_gpus(report.ladder)
    rows = [row for group in groups for row in _groups_with_short_label(group)]
    labels = [gpu_label(row) for row in rows]
    rungs = [step.rung for step in report.ladder[0].steps]
    widths = [
        max(len(STAGE_NAMES.get(rung, rung)), *(len(page.sign(_mark_of_step(row.steps[place]))) for row in report.ladder)) + _COLUMN_GAP
        for place, rung in enumerate(rungs)
    ]
    first = max(len(page.text(label)) for label in labels) + _COLUMN_GAP
    wide = 2 + first + sum(widths) - _COLUMN_GAP <= page.look.width
    if wide:
        _draw_table(page, list(zip(labels, rows, strict=True)), list(zip(rungs, widths, strict=True)), first)
    for group in groups:
        if not wide or _first_failed_step(group[0]):
            page.paragraph(_stop_sentence(group[0]), f"{gpu_label(group)}: ", indent=2, hang=2, lead_style="bold")


def _groups_with_short_label(group: list[LadderRow]) -> list[list[LadderRow]]:
    """Return equal GPUs as one row of the table, or each in its own where the label of all would be too long."""
    return [group] if len(gpu_label(group)) <= _MAX_LABEL else [[row] for row in group]


def _equal_gpus(rows: tuple[LadderRow, ...], *, by_model: bool = False) -> list[list[LadderRow]]:
    groups: dict[tuple[object, ...], list[LadderRow]] = {}
    for row in rows:
        trouble = _first_failed_step(row)
        alike = (row.model if by_model else "", row.index is None, *(step.state for step in row.steps), trouble.detail if trouble else "")
        groups.setdefault(alike, []).append(row)
    return list(groups.values())


def _first_failed_step(row: LadderRow) -> Step | None:
    """Return the first stage that was tried and not passed."""
    return next((step for step in row.steps if step.state != _PROVEN_STATE and step.state not in _IDLE_STATES), None)


def _stop_sentence(row: LadderRow) -> str:
    """Return where a GPU was stopped, and by what; else how far it came."""
    trouble = _first_failed_step(row)
    if trouble is None:
        last = next((step.rung for step in reversed(row.steps) if step.state == _PROVEN_STATE), "")
        return f"passed {STAGE_NAMES.get(last, last)}" if last else "nothing was tried"
    if trouble.state == RungState.MASKED:
        return trouble.detail or "hidden from CUDA programs"
    why = f": {trouble.detail}" if trouble.detail else ""
    return f"{STAGE_NAMES.get(trouble.rung, trouble.rung)} {_mark_of_step(trouble).word}{why}"


def _draw_table(page: Page, groups: list[tuple[str, list[LadderRow]]], columns: list[tuple[str, int]], first: int) -> None:
    page.cells([("", 2 + first, ""), *((STAGE_NAMES.get(rung, rung), width, "dim") for rung, width in columns)])
    for label, group in groups:
        cells = [("", 2, ""), (label, first, "")]
        for step, (_, width) in zip(group[0].steps, columns, strict=True):
            cells.append((page.sign(_mark_of_step(step)), width, _mark_of_step(step).style))
        page.cells(cells)
    legend = [f"{page.sign(mark)} {mark.word}" for mark in _used_marks(group[0] for _, group in groups)]
    page.paragraph("   ".join(legend), indent=2 + first, style="dim")
