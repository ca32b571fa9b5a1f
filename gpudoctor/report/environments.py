"""The environments of a machine, a line each: Python, frameworks, and whether it could train here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from gpudoctor.findings import Verdict
from gpudoctor.findings.summary import FrameworkBuild, Summary
from gpudoctor.findings.wording import count_with_noun
from gpudoctor.report.model import Report, Tool
from gpudoctor.report.page import Page, PageLook
from gpudoctor.report.summary import framework_text, summary_parts
from gpudoctor.report.words import VERDICT_MARKS, Mark
from gpudoctor.schema_fields import FORM, means

NO_FRAMEWORK = "none"
"""The verdict of an environment without a framework."""
_NO_FRAMEWORK_MARK = Mark("–", "-", "dim", "NO FRAMEWORK")  # noqa: RUF001 -- as reports draw what does not apply


class EnvironmentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One Python environment."""

    path: Annotated[str, means("Its folder.", "/home/me/project/.venv")]
    python: Annotated[str, means("Its interpreter, for --python.")]
    kind: Annotated[str, means("Open.", "virtual environment", "conda environment", "pixi environment", "pyenv", "uv", "system")]
    active: Annotated[bool, means("Whether VIRTUAL_ENV or CONDA_PREFIX names it.")] = False
    kernels: Annotated[tuple[str, ...], means("The Jupyter kernels that start it.", ["python3"])] = ()
    version: Annotated[str | None, means("Its Python; null if the interpreter does not start.", "3.12.4")] = None
    frameworks: Annotated[tuple[FrameworkBuild, ...], means("Those installed in it.")] = ()
    verdict: Annotated[str, means("ready, degraded, broken or unknown, as `check --level look` reaches it; none without a framework.")]
    code: Annotated[str | None, means("The rule of the root cause.", "GD501")] = None
    why: Annotated[str, means("The root cause, or what was not checked.")] = ""


class EnvironmentsDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The Python environments of a machine."""

    schema: Annotated[Literal["gpudoctor.envs/1"], FORM] = "gpudoctor.envs/1"
    tool: Tool
    created: Annotated[str, means("When they were looked at.", "2026-11-22T10:00:00Z")]
    summary: Annotated[Summary, means("The machine, without an environment.")]
    verdict: Annotated[str, means("That of the machine alone, as `check --node` reaches it.")]
    code: Annotated[str | None, means("The rule of the machine's root cause.", "GD101")] = None
    why: Annotated[str, means("The machine's root cause, or what was not checked.")] = ""
    environments: Annotated[tuple[EnvironmentRow, ...], means("The active one first, then by path.")]
    unlisted: Annotated[int, means("How many more there are.")] = 0


def environment_row(made: Report | None, machine: Report, known: dict[str, Any], unproven: Sequence[str] = ()) -> EnvironmentRow:
    """Return the line of an environment. `made` is the report on it, None if its interpreter does not start; `known` is what else is known.

    `unproven` is what was not verified there, the most important first.
    """
    if made is None:
        return EnvironmentRow(**known)
    summary = made.summary
    common = {**known, "version": summary.python, "frameworks": summary.frameworks or ()}
    if not summary.frameworks:
        return EnvironmentRow(**common, verdict=NO_FRAMEWORK)
    shared = {cause.code for cause in machine.causes}
    own = next((cause for cause in made.causes if cause.code not in shared), None)
    why = own.message if own else unproven[0] if unproven and made.verdict == Verdict.UNKNOWN else ""
    return EnvironmentRow(**common, verdict=made.verdict, code=own.code if own else None, why=why)


def draw(document: EnvironmentsDocument, look: PageLook, home: str = "") -> str:
    """Return the environments as text: first those with a framework, then the others. Paths below the folder `home` begin with ~."""
    page = Page(look)
    mark = VERDICT_MARKS[document.verdict]
    page.parts(summary_parts(document.summary))
    if document.verdict in {Verdict.BROKEN, Verdict.UNKNOWN}:
        lead = f"{page.sign(mark)} {document.code or ''}".rstrip()
        page.paragraph(document.why, f"{lead}  ", lead_style=mark.style, hang=2)
    page.gap()
    shown = [environment for environment in document.environments if environment.verdict != NO_FRAMEWORK]
    for environment in shown:
        _draw_environment(page, environment, home)
    if not shown:
        page.paragraph("No environment has a framework.")
    without = [environment for environment in document.environments if environment.verdict == NO_FRAMEWORK]
    if without:
        page.heading("Without a framework")
        for environment in without:
            _draw_environment(page, environment, home)
    if document.unlisted:
        page.paragraph(f"{count_with_noun(document.unlisted, 'more environment')} not listed.")
    return page.render()


def _draw_environment(page: Page, environment: EnvironmentRow, home: str) -> None:
    path = f"~{environment.path.removeprefix(home)}" if home and environment.path.startswith(f"{home}/") else environment.path
    mark = _NO_FRAMEWORK_MARK if environment.verdict == NO_FRAMEWORK else VERDICT_MARKS[environment.verdict]
    said = [
        *([f"Python {environment.version}"] if environment.version else []),
        *map(framework_text, environment.frameworks),
        *(["active"] if environment.active else []),
        *([f"Jupyter kernel {', '.join(environment.kernels)}"] if environment.kernels else []),
    ]
    page.parts([path, *said], f"{page.sign(mark)} ", lead_style=mark.style, hang=4)
    if environment.why:
        page.paragraph(environment.why, f"{environment.code}  " if environment.code else "", lead_style=mark.style, indent=4, hang=2)
