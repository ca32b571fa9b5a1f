"""Reads what systemctl says of the fabric manager, and the container runtimes that Docker knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "services"
_SERVICE_HEADING = expression(r"(?P<unit>nvidia-[\w@-]{3,40})\.service - ")
_ACTIVE_LINE = expression(r"\bActive: (?P<state>active|inactive|failed|activating)\b")
_IS_ACTIVE_COMMAND = expression(r"systemctl is-active (?P<unit>nvidia-[\w-]{3,40})(?:\.service)?\s*$")
_SERVICE_STATES = ("active", "inactive", "failed", "activating")
_NEAR_LINES = 10
"""Lines of a unit's state before its log."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for place, line in enumerate(lines):
        if "nvidia-" not in line.text:
            continue
        head, asked = _SERVICE_HEADING.search(line.text), _IS_ACTIVE_COMMAND.search(line.text)
        if asked and place + 1 < len(lines) and lines[place + 1].text.strip() in _SERVICE_STATES:
            yield Statement(f"service:{asked['unit']}", lines[place + 1].text.strip(), _NAME, lines[place + 1].number, Directness.TOOL)
        for below in lines[place + 1 : place + _NEAR_LINES] if head else ():
            state = _ACTIVE_LINE.search(below.text)
            if head and state:
                yield Statement(f"service:{head['unit']}", state["state"], _NAME, below.number, Directness.TOOL)
                break


READER = Reader(
    _NAME,
    forms=(
        StatementForm("service", r"Unit (?P<name>nvidia-[\w@-]{3,40})\.service (?P<value>could not be found)"),
        # `docker info`, and /etc/docker/daemon.json
        StatementForm("docker runtimes", r"^\s{0,4}Runtimes: (?P<value>[a-z][\w. -]{1,200})$"),
        StatementForm("docker default runtime", r"^\s{0,4}Default Runtime: (?P<value>[\w.-]{2,60})$"),
        StatementForm("docker default runtime", r"\"default-runtime\": ?\"(?P<value>[\w.-]{2,60})\""),
        StatementForm("docker runtimes", r"\"path\": ?\"(?:/usr/bin/)?(?P<value>nvidia)-container-runtime\""),
    ),
    blocks=_statements,
)
