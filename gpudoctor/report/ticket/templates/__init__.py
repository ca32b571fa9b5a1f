"""The templates of tickets, and the only place that knows jinja2."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gpudoctor.findings.naming import counted
from gpudoctor.report.ticket.view import View


def environment(finalize: Callable[[object], Any], **filters: Callable[..., Any]) -> Environment:
    """Return an environment in which `finalize` treats every value, and what it leaves as plain text is escaped as HTML."""
    made = Environment(
        autoescape=True,
        finalize=finalize,
        loader=PackageLoader("gpudoctor.report.ticket", "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(filters)
    return made


def footer(view: View) -> list[str]:
    """Return how a ticket ends: what was examined, by what, and what was removed."""
    report = view.report
    examined = report.examined
    return [
        *([f"Examined {examined.python} ({examined.why})"] if examined.python else []),
        f"{counted(view.passed, 'check')} passed",
        f"gpudoctor {report.tool.version}, tables of {report.matrix.date}, {report.created}",
        *([f"Command: {shlex.join(report.argv)}"] if report.argv else []),
        f"Redacted: {view.removed}",
    ]
