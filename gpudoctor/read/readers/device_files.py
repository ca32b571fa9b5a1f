"""Reads `ls /dev/nvidia*` in its long and its short form, and `id` and `groups`, which decide who may open the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "device files"
_LONG_FORM = expression(
    r"c(?P<mode>[rwxsStT-]{9})[.+@]?\s{1,4}\d{1,3}\s{1,4}(?P<owner>[\w.-]{1,40})\s{1,8}(?P<group>[\w.-]{1,40})\s{1,8}"
    r"(?P<major>\d{1,4}),\s{1,8}(?P<minor>\d{1,7})\s.{4,40}\s(?P<path>/dev/(?:nvidia[\w-]{0,30}|dxg)|nvidia[\w-]{1,30})"
)
_STAT_FORM = expression(r"c(?P<mode>[rwxsStT-]{9}) (?P<owner>[\w.-]{1,40})[: ](?P<group>[\w.-]{1,40}) (?P<path>/dev/nvidia[\w-]{0,30})")
"""`stat -c '%A %U:%G %n'`, which prints no number of a device."""
_FILE_MODE = expression(r"(?<!\S)c[rwxsStT-]{9}")
_LIST_COMMAND = expression(r"^\$? ?ls (?:-\w{1,4} )?/dev/nvidia\*\W{1,4}(?=/)")
"""A command whose answer somebody wrote on the same line."""
_DEVICE_PATH = expression(r"/dev/nvidia[\w-]{0,30}")


def _file_statements(line: Line) -> Iterator[Statement]:
    """Yield the device files of a line that lists one, or several as somebody wrote them one behind the other."""
    begins = [found.start() for found in _FILE_MODE.finditer(line.text)]
    for begin, end in zip(begins, [*begins[1:], None], strict=True):
        text = line.text[begin:end].rstrip(" ;,.")
        if found := _LONG_FORM.match(text) or _STAT_FORM.match(text):
            path = found["path"] if found["path"].startswith("/") else f"/dev/{found['path']}"
            numbers = (found["major"], found["minor"]) if found.re.groups > 4 else ("-", "-")
            yield Statement(
                f"node:{path}", " ".join((*found.group("mode", "owner", "group"), *numbers)), _NAME, line.number, Directness.TOOL
            )


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    for place, line in enumerate(lines):
        text = line.text.strip()
        text = _LIST_COMMAND.sub("", text) if "ls " in text else text
        if "nvidia" in text and _FILE_MODE.search(text):
            yield from _file_statements(line)
        elif text.startswith("/dev/nvidia"):
            paths = text.split()
            if all(_DEVICE_PATH.fullmatch(path) for path in paths):
                yield from (Statement(f"node:{path}", "", _NAME, line.number, Directness.TOOL) for path in paths)
        elif text.endswith("groups") and place + 1 < len(lines) and re.fullmatch(r"(?:\S{0,80}[$#>] )?(?:groups|id -Gn)", text):
            yield Statement("groups", lines[place + 1].text.strip(), _NAME, lines[place + 1].number, Directness.TOOL)


READER = Reader(
    _NAME,
    forms=(
        StatementForm("no nodes", r"(?P<value>cannot access '?/dev/nvidia\*'?: No such file or directory)"),
        StatementForm("no node", r"cannot access '?(?P<name>/dev/nvidia[\w-]{1,30})'?: (?P<value>No such file or directory)"),
        StatementForm("id", r"^\s*(?P<value>uid=\d{1,10}\([^)\s]{1,60}\) gid=\d{1,10}\([^)\s]{1,60}\) (?:groups=\S{1,1000}))"),
    ),
    blocks=_statements,
    cues=("/dev/", "groups", "id -gn", "crw", "cr-", "c-"),
)
