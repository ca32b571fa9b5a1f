"""A plan for a terminal."""

from __future__ import annotations

from gpudoctor.digits import short_number
from gpudoctor.exit_codes import UNKNOWN
from gpudoctor.findings import Verdict
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.plan import Assumption, Environment, Plan
from gpudoctor.report.words import VERDICT_MARKS

_COLUMN_GAP = 2


def render(plan: Plan, look: PageLook) -> str:
    """Return the plan as text."""
    page = Page(look)
    here = plan.environment
    nothing = Verdict.UNKNOWN if plan.exit_code == UNKNOWN else Verdict.BROKEN
    mark = VERDICT_MARKS[here.verdict if here else nothing.value]
    page.paragraph(plan.headline, f"{page.sign(mark)} {mark.word}  ", lead_style=mark.style, hang=2)
    page.parts([*map(assumption_text, plan.machine)], style="dim", indent=2)
    if here is not None:
        _draw_environment(page, here)
    if plan.nearest is not None:
        page.heading("The nearest that works")
        page.command(plan.nearest.commands.uv, indent=2)
    if plan.with_driver is not None:
        then = plan.with_driver.environment
        page.heading(f"With {plan.with_driver.words}")
        works = "work" if " and " in then.name.partition(" with ")[0] else "works"
        page.paragraph(f"{then.name} {'may work' if then.verdict == Verdict.UNKNOWN.value else works}.", indent=2)
        for line in then.not_checked:
            page.paragraph(line, indent=2)
        page.command(then.commands.uv, indent=2)
    if plan.verification is not None:
        page.heading("Verified")
        page.paragraph(f"{plan.verification.summary.rstrip('.')}; took {plan.verification.seconds:.0f} s", indent=2, hang=2)
        page.paragraph(f"kept in {plan.verification.folder}" if plan.verification.folder else "", indent=2)
    page.gap()
    page.paragraph(plan.resolver_note, style="dim")
    return page.render()


def assumption_text(assumption: Assumption) -> str:
    """Return what was planned for, in words."""
    if assumption.what in {"driver", "Python", "glibc", "macOS"}:
        return f"{assumption.what} {assumption.value}{' (assumed)' if assumption.assumed else ''}"
    return "no GPU" if assumption.what == "GPU" and assumption.value == "none" else assumption.value


def _draw_environment(page: Page, here: Environment) -> None:
    page.heading("Packages")
    rows = [("python", here.python, here.python_reason), *((*_name_and_version(pin.requirement), pin.reason) for pin in here.pins)]
    names, pins = (max(len(row[column]) for row in rows) + _COLUMN_GAP for column in (0, 1))
    for name, version, reason in rows:
        page.paragraph(reason, f"{name:<{names}}{version:<{pins}}", indent=2, hang=names + pins)
    if here.locked:
        size = f"; {short_number(here.download_bytes / 1e9, 2)} GB to download" if here.download_bytes else ""
        others = len(here.locked) - len(here.pins)
        page.paragraph(f"and {count_with_noun(max(others, 0), 'package')} that these require{size}", indent=2)
    for title, lines in (("Why not newer", here.older_because), ("Warnings", here.warnings), ("Not checked", here.not_checked)):
        if lines:
            page.heading(title)
            for line in lines:
                page.paragraph(line, indent=2, hang=2)
    for title, command in (("uv", here.commands.uv), ("pip", here.commands.pip), ("conda", here.commands.conda)):
        page.heading(title)
        page.command(command, indent=2)


def _name_and_version(requirement: str) -> tuple[str, str]:
    """Return the name with extras, and the version or the bounds."""
    name, equal, version = requirement.partition("==")
    if equal:
        return name, version
    cut = next((place for place, letter in enumerate(requirement) if letter in "<>=!~; "), len(requirement))
    return requirement[:cut], requirement[cut:].strip()
