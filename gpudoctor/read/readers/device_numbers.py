"""Compares the number that nvidia_uvm has now with the one under which a container, or a listing, knows its device file.

The kernel may choose another number at each boot: https://docs.kernel.org/admin-guide/devices.html (234-254, 384-511). NVIDIA's own is always 195.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpudoctor.expressions import expression
from gpudoctor.read.readers.across_lines import SHOWN_KEY
from gpudoctor.read.readers.reader import Reader
from gpudoctor.read.statements import Directness, Line, Statement

_NAME = "device numbers"
_DRIVERS_NUMBER = expression(
    r"(?:^|[\s>:=`'\"])(?P<row>\d{2,3}) nvidia-uvm\b(?!-)"
    r"|\bnvidia[-_]uvm\b[^\n.]{0,24}?\b(?:now|currently|meanwhile)\b[^\n.]{0,24}?\b(?P<now>\d{3})\b"
    r"|\bnvidia[-_]uvm\b (?:now |then )?(?:has|is|got|gets) (?:the )?major(?: device)?(?: number)? (?P<has>\d{3})\b"
)
"""A row of /proc/devices, or what somebody says of it."""
_FILES_NUMBER = expression(r"\bc[rwxsStT-]{9}\S? {1,4}\d{1,3} .{3,90}?(?P<number>\d{1,4}), {1,8}\d{1,7} .{4,40}?/?nvidia-uvm$")
"""A row of `ls -l /dev`."""
_ALLOWED_NUMBER = expression(r"\blxc\.cgroup2?\.devices\.allow ?[:=] ?c (?P<number>\d{1,4}):")
_ALLOWS_ALL = expression(r"\blxc\.cgroup2?\.devices\.allow ?[:=] ?(?:a\b|c \*:)")
_CDI_NUMBER = expression(r"\bpath: [\"']?/dev/nvidia-uvm[\"']?,? {1,4}major: (?P<number>\d{1,4})\b")
"""Both keys on one line, as people quote a specification."""


def _statements(lines: Sequence[Line]) -> Iterator[Statement]:
    """Yield the first number that differs from the driver's: of a device file, in a CDI specification, or among those that LXC allows."""
    driver = {next(filter(None, found.groups())) for line in lines for found in _DRIVERS_NUMBER.finditer(line.text)}
    files = [(found["number"], line) for line in lines if (found := _FILES_NUMBER.search(line.text.rstrip()))]
    now = min(driver) if len(driver) == 1 else ""
    if now and (quoted := next(((found["number"], line) for line in lines if (found := _CDI_NUMBER.search(line.text))), None)):
        if quoted[0] != now:
            text = f"the CDI specification names /dev/nvidia-uvm with number {quoted[0]}, the host has {now}"
            yield Statement(f"{SHOWN_KEY}cdi device", text, _NAME, quoted[1].number, Directness.TOOL)
        return
    if stale := next(((number, line) for number, line in files if now and number != now), None):
        yield _stale_statement(f"/dev/nvidia-uvm has major number {stale[0]}, the driver has {now}", stale[1])
    elif len({number for number, _ in files}) > 1:
        yield _stale_statement(f"/dev/nvidia-uvm has major number {files[0][0]} in one list, {files[-1][0]} in another", files[-1][1])
    else:
        yield from _allowance_statements(lines, now or next((number for number, _ in files), ""))


def _allowance_statements(lines: Sequence[Line], now: str) -> Iterator[Statement]:
    """Yield that LXC allows a container device files of other numbers only."""
    allowed = [(found["number"], line) for line in lines for found in _ALLOWED_NUMBER.finditer(line.text)]
    numbers = {number for number, _ in allowed}
    if now and numbers and now not in numbers and not any(_ALLOWS_ALL.search(line.text) for line in lines):
        yield _stale_statement(
            f"LXC allows major number {', '.join(sorted(numbers))}, and nvidia-uvm has major number {now}", allowed[0][1]
        )


def _stale_statement(text: str, line: Line) -> Statement:
    return Statement(f"{SHOWN_KEY}uvm number", text, _NAME, line.number, Directness.TOOL)


READER = Reader(_NAME, blocks=_statements, cues=("nvidia-uvm", "nvidia_uvm"))
