"""Reads what systemctl says of the fabric manager, and the container runtimes that Docker knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Form, Reader
from gpudoctor.read.statements import Line, Rank, Statement

_NAME = "services"
_HEAD = expression(r"(?P<unit>nvidia-[\w@-]{3,40})\.service - ")
_ACTIVE = expression(r"\bActive: (?P<state>active|inactive|failed|activating)\b")
_ASKED = expression(r"systemctl is-active (?P<unit>nvidia-[\w-]{3,40})(?:\.service)?\s*$")
_STATES = ("active", "inactive", "failed", "activating")
_NEAR = 10
"""Lines of a unit's state before its log."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for place, line in enumerate(lines):
        if "nvidia-" not in line.text:
            continue
        head, asked = _HEAD.search(line.text), _ASKED.search(line.text)
        if asked and place + 1 < len(lines) and lines[place + 1].text.strip() in _STATES:
            yield Statement(f"service:{asked['unit']}", lines[place + 1].text.strip(), _NAME, lines[place + 1].number, Rank.TOOL)
        for below in lines[place + 1 : place + _NEAR] if head else ():
            state = _ACTIVE.search(below.text)
            if head and state:
                yield Statement(f"service:{head['unit']}", state["state"], _NAME, below.number, Rank.TOOL)
                break


READER = Reader(
    _NAME,
    forms=(
        Form("service", r"Unit (?P<name>nvidia-[\w@-]{3,40})\.service (?P<value>could not be found)"),
        # `docker info`, and /etc/docker/daemon.json
        Form("docker runtimes", r"^\s{0,4}Runtimes: (?P<value>[a-z][\w. -]{1,200})$"),
        Form("docker default runtime", r"^\s{0,4}Default Runtime: (?P<value>[\w.-]{2,60})$"),
        Form("docker default runtime", r"\"default-runtime\": ?\"(?P<value>[\w.-]{2,60})\""),
        Form("docker runtimes", r"\"path\": ?\"(?:/usr/bin/)?(?P<value>nvidia)-container-runtime\""),
    ),
    blocks=_statements,
)
