"""What was not checked, a line for each reason."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report import gpus
from gpudoctor.report.model import CouldNotTell, Report
from gpudoctor.report.page import Page

_MAX_REASONS = 5
"""Lines in a short report."""


def draw(page: Page, report: Report) -> None:
    """Add the section; nothing if everything was checked."""
    if not report.could_not_tell:
        return
    page.heading("Not checked")
    if page.look.verbose:
        _draw_all(page, report)
        return
    every = items_by_reason(report)
    shown = every if len(every) <= _MAX_REASONS else every[: _MAX_REASONS - 1]
    for reason, items in shown:
        _draw_reason(page, reason, items, room=1 + (_MAX_REASONS - len(shown)) // len(shown))
    if len(shown) < len(every):
        page.shortened = True
        page.paragraph(f"... {sum(len(items) for _, items in every[len(shown) :])} more with -v", indent=2, style="dim")


def items_by_reason(report: Report) -> list[tuple[str, list[CouldNotTell]]]:
    """Return what was not checked by reason: our crashes first, then what has a reason of its own, what follows from a finding last."""
    found: dict[tuple[int, str], list[CouldNotTell]] = {}
    for item in report.could_not_tell:
        found.setdefault(_ordered_reason(report, item), []).append(item)
    return [(reason, items) for (_, reason), items in sorted(found.items(), key=lambda one: one[0][0])]


def _ordered_reason(report: Report, item: CouldNotTell) -> tuple[int, str]:
    """Return the place in the order, and the reason as a phrase."""
    if item.kind == "crashed":
        return 0, f"{item.reason}; gpudoctor crashed, please report it"
    if item.because_of:
        return 2, "blocked by the problem above" if len(report.causes) == 1 else "blocked by the problems above"
    if item.cause == "denied" and report.examined.user != "root":
        return 1, "only root may read it"
    return 1, item.reason


def _draw_reason(page: Page, reason: str, items: list[CouldNotTell], room: int) -> None:
    """Add the reason and the rules, by name if a line holds them, else by code, else counted; a reason longer than `room` lines is cut."""
    codes = _rule_names(items, names=False)
    count = count_with_noun(len({item.code for item in items}), "rule")
    for rules in (_rule_names(items, names=True), codes, count):
        if len(page.text(f"  {reason}: {rules}")) <= page.look.width:
            page.paragraph(rules, f"{reason}: ", indent=2)
            page.shortened |= rules == count
            return
    rules = codes if len(codes) < page.look.width // 2 else count
    if len(page.wrapped_lines(reason, f"{rules}: ", indent=2, hang=2)) <= room:
        page.paragraph(reason, f"{rules}: ", indent=2, hang=2)
    else:
        page.cut(f"{rules}: {reason}", indent=2)


def _rule_names(items: Iterable[CouldNotTell], *, names: bool) -> str:
    return ", ".join(dict.fromkeys(f"{item.code} {item.name}" if names else item.code for item in items))


def _draw_all(page: Page, report: Report) -> None:
    """Add every rule with its own reason; those that say the same of several GPUs once."""
    found: dict[tuple[int, str, str, str], list[CouldNotTell]] = {}
    for item in report.could_not_tell:
        place, reason = _ordered_reason(report, item)
        found.setdefault((place, item.code, item.reason, reason), []).append(item)
    for (place, code, own, reason), items in sorted(found.items(), key=lambda one: (one[0][0], one[0][1])):
        about = gpus.subject_names(report, items)
        because = f"{own} (because of {', '.join(items[0].because_of)})" if place == 2 else own if place else reason
        page.paragraph(because, f"{code} {items[0].name}{f' ({about})' if about else ''}: ", indent=2, hang=2)
